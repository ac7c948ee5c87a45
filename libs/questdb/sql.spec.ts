import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Authority, pgTlsFront, portOf, type Certified } from '#testing';
import { Sql } from './sql.js';

const authority = new Authority();
const dayMs = 86_400_000;

let front: Server | undefined;
let sql: Sql | undefined;
afterEach(async () => {
  await sql?.close();
  front?.close();
});

it.each<[string, Certified | undefined, string]>([
  [
    'nobody trusted has signed its certificate',
    new Authority('a stranger').certify(),
    'QuestDB cannot be used: no trusted authority has signed the certificate of AT, so check the setting that names the CA.',
  ],
  [
    'its certificate has expired',
    authority.certify({ fromMs: Date.now() - 2 * dayMs, toMs: Date.now() - dayMs }),
    'QuestDB cannot be used: the certificate of AT has expired, so renew it there.',
  ],
  ['it has no TLS', undefined, 'QuestDB cannot be used: AT does not speak TLS, so leave sslmode out of HEADWATER_QUESTDB_PG.'],
])('QuestDB is not told the password when %s, and a sentence says so', async (_, certified, sentence) => {
  front = await pgTlsFront(certified, 1);
  const at = `127.0.0.1:${portOf(front)}`;
  sql = new Sql(`postgres://u:secret@${at}/qdb?sslmode=require`, 1, { ca: authority.cert });
  await expect(sql.rows('SELECT 1')).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(sql.whyNot?.replace(at, 'AT')).toBe(sentence);
});

/** More than a server that does not read has room for, and little enough for the client's kernel to hold the rest. */
const statementBytes = 1 << 20;
/** What PostgreSQL's protocol answers to a client that connects: authentication is done, and the server is ready for a query. */
const welcome = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1');

/** Lets one client connect and then reads no more from it, as if the network were cut. Resolves with the connection of the client. */
async function letIn(server: Server, certified: Certified | undefined): Promise<Socket> {
  const [near] = (await once(server, 'connection')) as [Socket];
  let client = near;
  if (certified) {
    await once(near, 'data');
    near.write('S');
    client = new TLSSocket(near, { isServer: true, requestCert: true, ca: authority.cert, ...certified });
  }
  await once(client, 'data');
  if (client instanceof TLSSocket && !client.getPeerCertificate().subject) throw new Error('the client shows no certificate');
  client.pause().write(welcome);
  return client;
}

const certified = authority.certify();

describe.each<[string, string, Certified | undefined]>([
  ['a plain connection', '', undefined],
  ['a connection with TLS', '?sslmode=require', certified],
])('over %s', (_, query, shown) => {
  it.each<[string, number, (one: Sql) => Promise<void>]>([
    ['takes too long', 300, () => Promise.resolve()],
    ['is under way when all ends', 60_000, (one) => one.close()],
  ])('a statement that %s does not arrive once the network is back', async (__, patienceMs, end) => {
    front = createServer();
    await once(front.listen(0, '127.0.0.1'), 'listening');
    const [at, entering] = [portOf(front), letIn(front, shown)];
    sql = new Sql(`postgres://u:secret@127.0.0.1:${at}/qdb${query}`, 1, { ca: authority.cert, ...certified });
    const asked = sql.rows('UPDATE t SET a = $1', ['x'.repeat(statementBytes)], patienceMs).catch((error: unknown) => error);
    const client = await entering;
    await end(sql);
    expect(await asked).toMatchObject({ code: 'store_unavailable' });
    let bytes = 0;
    let code: string | undefined;
    client.on('data', (some: Buffer) => (bytes += some.length)).on('error', (error: NodeJS.ErrnoException) => (code = error.code));
    client.resume();
    await new Promise((resolve) => client.once('close', resolve));
    expect([code, bytes < statementBytes]).toEqual(['ECONNRESET', true]);
  });
});

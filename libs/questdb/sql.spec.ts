import type { Server } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
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

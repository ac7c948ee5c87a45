import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { describeOnOwnServers, eventually, openWay, ownQuestDb } from '#testing';
import { Sql } from './sql.js';

const startMs = 300_000;
const slow = 'SELECT sum(rnd_double()) FROM long_sequence(100000000000)';

describeOnOwnServers('Questions to QuestDB', () => {
  let server: Awaited<ReturnType<typeof ownQuestDb>>;
  let sql: Sql;
  // One of its own: a question that takes a core would hold up the suites beside it.
  beforeAll(async () => void (server = await ownQuestDb()), startMs);
  beforeEach(() => void (sql = new Sql(server.pgUrl, 4)));
  afterEach(() => sql.close());
  afterAll(() => server.stop(), startMs);

  it('are asked on while others are answered and one takes too long', async () => {
    const slowly = sql.rows(slow, [], 3000).catch((error: unknown) => error);
    await expect(sql.rows('SELECT 1')).resolves.toEqual([[1]]);
    await expect(slowly).resolves.toMatchObject({ code: 'store_unavailable' });
    expect(sql.whyNot).toBeUndefined();
    await expect(sql.rows('SELECT 1')).resolves.toEqual([[1]]);
  });

  it('are not asked for a while when one has taken too long and no other was answered', async () => {
    await expect(sql.rows(slow, [], 500)).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(sql.whyNot).toBeDefined();
    await expect(sql.rows('SELECT 1')).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  it('are asked on when one has waited in vain for a connection that a long question has', async () => {
    const alone = new Sql(server.pgUrl, 1);
    try {
      await eventually(() => alone.rows('SELECT 1'));
      const slowly = alone.rows(slow, [], 5000).catch((error: unknown) => error);
      await expect(alone.rows('SELECT 1')).rejects.toMatchObject({ code: 'store_unavailable' });
      expect(alone.whyNot).toBeUndefined();
      await slowly;
    } finally {
      await alone.close();
    }
  });

  /** What becomes of a question to a server that takes no connection until so many have been tried. */
  async function askHeld(held: number): Promise<{ readonly answer: unknown; readonly answers: boolean }> {
    const url = new URL(server.pgUrl);
    const way = await openWay(0, url.host, held);
    url.host = `127.0.0.1:${(way.address() as AddressInfo).port}`;
    const slowly = new Sql(url.href, 4);
    try {
      const answer = await slowly.rows('SELECT 1').catch(({ code }) => code as unknown);
      return { answer, answers: slowly.whyNot === undefined };
    } finally {
      await slowly.close();
      way.close();
    }
  }

  it.each([
    [1, { answer: [[1]], answers: true }],
    [2, { answer: 'store_unavailable', answers: false }],
  ])('are asked once more when the server is slow to take %i connections', async (held, expected) => {
    await eventually(async () => expect(await askHeld(held)).toEqual(expected));
  });

  it('make a view again of which they are told that it is there', async () => {
    const name = `made${randomBytes(6).toString('hex')}`;
    const view = `CREATE VIEW ${name} AS (SELECT 1 one FROM long_sequence(1))`;
    await sql.run([view]);
    let isMade = false;
    const again = sql.run([view]).then(() => (isMade = true));
    await expect(sql.rows(view)).rejects.toMatchObject({ cause: { message: 'view already exists' } });
    expect(isMade).toBe(false);
    await sql.run([`DROP VIEW ${name}`]);
    await again;
    await sql.run([`DROP VIEW ${name}`]);
  });
});

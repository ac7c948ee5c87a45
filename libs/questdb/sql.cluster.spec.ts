import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { describeOnServers, openWay, sharedQuestDb } from '#testing';
import { Sql } from './sql.js';

const slow = 'SELECT sum(rnd_double()) FROM long_sequence(100000000000)';

describeOnServers('Questions to QuestDB', () => {
  let sql: Sql;
  beforeEach(() => void (sql = new Sql(sharedQuestDb().pgUrl, 4)));
  afterEach(() => sql.close());

  it('are asked on while others are answered and one takes too long', async () => {
    const slowly = sql.rows(slow, [], 500).catch((error: unknown) => error);
    await expect(sql.rows('SELECT 1')).resolves.toEqual([[1]]);
    await expect(slowly).resolves.toMatchObject({ code: 'store_unavailable' });
    expect(sql.answers).toBe(true);
    await expect(sql.rows('SELECT 1')).resolves.toEqual([[1]]);
  });

  it('are not asked for a while when one has taken too long and no other was answered', async () => {
    await expect(sql.rows(slow, [], 500)).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(sql.answers).toBe(false);
    await expect(sql.rows('SELECT 1')).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  it.each([
    [1, [[1]], true],
    [2, 'store_unavailable', false],
  ])('are asked once more when the server is slow to take %i connections', async (held, expected, answers) => {
    const url = new URL(sharedQuestDb().pgUrl);
    const way = await openWay(0, url.host, held);
    url.host = `127.0.0.1:${(way.address() as AddressInfo).port}`;
    const slowly = new Sql(url.href, 4);
    try {
      expect(await slowly.rows('SELECT 1').catch(({ code }) => code as unknown)).toEqual(expected);
      expect(slowly.answers).toBe(answers);
    } finally {
      await slowly.close();
      way.close();
    }
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

import { expect, it } from '@jest/globals';
import { describeOnServers, sharedQuestDb } from '#testing';
import { Commits } from './commits.js';
import { Sql } from './sql.js';

describeOnServers('how QuestDB commits', () => {
  it('is understood by each of many who ask at once', async () => {
    const asking = Array.from({ length: 16 }, () => new Sql(sharedQuestDb().pgUrl, 1));
    const askOften = async (sql: Sql): Promise<void> => {
      for (let times = 0; times < 40; times++) await new Commits(sql, 'sync').check();
    };
    await expect(Promise.all(asking.map(askOften))).resolves.toHaveLength(asking.length);
    await Promise.all(asking.map((sql) => sql.close()));
  });
});

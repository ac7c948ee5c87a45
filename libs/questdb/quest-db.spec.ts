import { afterAll, beforeAll, describe } from '@jest/globals';
import { eventStoreContract, type EventStoreUnderTest, ownQuestDb, seriesStoreContract, type SeriesStoreUnderTest } from '#testing';
import { openQuestDb, type QuestDb } from './quest-db.js';

/** Shortly after the times that the contract writes. */
const now = 1_700_000_100_000;

describe('QuestDB', () => {
  let server: Awaited<ReturnType<typeof ownQuestDb>>;
  beforeAll(async () => void (server = await ownQuestDb()));
  afterAll(() => server?.stop());

  const open = async (generation: number): Promise<QuestDb> => {
    const { httpUrl, pgUrl } = server;
    const db = openQuestDb({ httpUrl, pgUrl, clock: () => now, partitioning: 'MONTH' });
    await db.ensureTables(generation);
    return db;
  };

  describe('as a series store', () => {
    const subject = async (): Promise<SeriesStoreUnderTest> => {
      const db = await open(1);
      const store = db.series(1);
      // What is not live is in the rollups after a checkpoint.
      const visible = (): Promise<void> => store.checkpoint();
      return { store, visible, crash: () => db.crash().then(subject), close: () => db.close() };
    };
    seriesStoreContract(subject, 2);
  });

  describe('as an event store', () => {
    const subject = async (): Promise<EventStoreUnderTest> => {
      const db = await open(2);
      return { store: db.events(2), crash: () => db.crash().then(subject), close: () => db.close() };
    };
    eventStoreContract(subject, 5);
  });
});

import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { openKafka, type KafkaStorage } from '#kafka';
import { entry, Runner, type Processor } from '#log';
import { noTags, tagsKey } from '#model';
import { describeOnServers, LogConsumer, ownGenerations, serverEnvironment, sharedQuestDb, until } from '#testing';
import { events, points } from '#topics';
import { eventProjector } from '../../apps/processors/event-projector.js';
import { seriesProjector } from '../../apps/processors/series-projector.js';
import { openQuestDb, type QuestDb } from './quest-db.js';
import { Sql } from './sql.js';
import { creating, tablesOf } from './tables.js';

const start = 1_700_000_000_000;
const minutes = 20;
const letters = 'abcdefghijklmnopqrst';
const letter = (minute: number): string => letters[minute]!;
const everything = { startMs: 0, endMs: 1e15 };

interface Part {
  readonly log: KafkaStorage['log'];
  readonly db: QuestDb;
  readonly generation: number;
}

/** How a record for each minute gets into a store, and the minutes that its readers see in two ways. */
interface WritePath {
  readonly topic: typeof points | typeof events;
  readonly processor: (part: Part) => Processor;
  readonly append: (part: Part, minute: number, bad: boolean) => Promise<void>;
  readonly found: (part: Part) => Promise<readonly unknown[]>;
}

const ofPoints: WritePath = {
  topic: points,
  processor: ({ db, generation }) => seriesProjector({ suffix: '', series: db.open(generation).series }),
  append: ({ log }, minute, isBad) => {
    const timestampMs = Float64Array.of(start + 60_000 * minute);
    const run = { metric: 'm', tags: isBad ? tagsKey({ core: '1' }) : noTags, timestampMs, value: Float64Array.of(minute) };
    return log.append([entry(points, { orgId: 'o', sourceId: 's', receivedMs: start + 60_000 * minute, series: [run] })]);
  },
  found: async ({ db, generation }) => {
    const query = { orgId: 'o', sourceId: 's', metrics: ['m'], window: everything, limit: 1000 };
    const { series } = await db.open(generation).series.raw(query);
    const { series: buckets } = await db.open(generation).series.buckets({ ...query, interval: '1m' });
    return [[...series[0]!.value], [...buckets[0]!.min]];
  },
};

const ofEvents: WritePath = {
  topic: events,
  processor: ({ db, generation }) => eventProjector({ suffix: '', events: db.open(generation).events }),
  append: ({ log }, minute, isBad) => {
    const event = { metric: 'm', value: isBad ? 'two' : letter(minute), isJson: false, tags: noTags, place: 0, ordinal: 0 };
    const batch = { orgId: 'o', sourceId: 's', receivedMs: start, origin: 'source' as const };
    return log.append([entry(events, { ...batch, events: [{ ...event, timestampMs: start + 60_000 * minute }] })]);
  },
  found: async ({ db, generation }) => {
    const entries = await db.open(generation).events.window('o', 's', everything, 1000);
    const values = entries.map(({ value }) => letters.indexOf(value));
    return [values, values];
  },
};

describeOnServers('A record with a row that QuestDB refuses', () => {
  // QuestDB itself refuses tags for a column that is no symbol, and a text of several letters for a column of one.
  it.each<[string, WritePath, string, string]>([
    ['of points', ofPoints, 'tags SYMBOL', 'tags CHAR'],
    ['of events', ofEvents, 'value VARCHAR', 'value CHAR'],
  ])('%s is parked, and all others are stored', async (_, way, column, narrow) => {
    const generation = ownGenerations();
    const sql = new Sql(sharedQuestDb().pgUrl);
    await sql.run(creating(tablesOf(generation), 'MONTH').map((statement) => statement.replace(column, narrow)));
    const { HEADWATER_KAFKA_BROKERS: brokers, HEADWATER_REGISTRY_URL: url } = serverEnvironment();
    const kafka = await openKafka({
      brokers: brokers!.split(','),
      registry: { url: url! },
      prefix: `refused${randomBytes(6).toString('hex')}.`,
      topics: [way.topic],
      replicationFactor: 1,
      minInsyncReplicas: 1,
      report: () => undefined,
    });
    const db = openQuestDb({ ...sharedQuestDb(), clock: () => start + 1e9, partitioning: 'MONTH' });
    const part = { log: kafka.log, db, generation };
    const runner = new Runner(kafka.log, way.processor(part), { checkpointMs: 500, report: () => undefined });
    try {
      await runner.start();
      for (let minute = 0; minute < minutes; minute++) await way.append(part, minute, minute === 7);
      await until('all is committed', async () => (await runner.lag()) === 0);
      const good = Array.from({ length: minutes }, (__, minute) => minute).filter((minute) => minute !== 7);
      expect(await way.found(part)).toEqual([good, good]);
      const parked = await LogConsumer.join(kafka.log, { group: 'letters', topics: [{ ...way.topic, name: `${way.topic.name}.dlq` }] });
      await until('it is parked', () => parked.unreadable.length > 0);
      expect(parked.unreadable).toMatchObject([{ headers: { reason: expect.stringMatching(/QuestDB.*400/), offset: '7' } }]);
      await parked.stop();
    } finally {
      await runner.stop();
      await kafka.close();
      await db.close();
      await sql.run(Object.values(tablesOf(generation)).map((table) => `DROP TABLE IF EXISTS ${table}`));
      await sql.close();
    }
  });
});

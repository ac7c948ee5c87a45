import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { entry, type Entry, type StreamRecord } from '#log';
import type { Source } from '#model';
import { describeOnOwnServers, LogConsumer, startOwnKafka, until, type OwnKafka } from '#testing';
import { sources } from '#topics';
import type { JavaServer } from '../../../infra/servers/index.js';
import { openKafka, type KafkaOptions, type KafkaStorage } from '../open-kafka.js';

const waitMs = 3_000;
const keys = 5;

const seen = (n: number, headers = {}): Entry<Source> => ({
  ...entry(sources, { orgId: 'o', sourceId: `s${n % keys}`, firstReceivedMs: 1, lastReceivedMs: n }),
  headers,
});
const numberOf = ({ value }: StreamRecord): number => (value as Source).lastReceivedMs;

/** Whether the first time that each number comes is in order within its key. */
function inOrder(records: readonly StreamRecord[]): boolean {
  const last = new Map<string, number>();
  const known = new Set<number>();
  return records.every((record) => {
    const n = numberOf(record);
    const fine = known.has(n) || n > (last.get(record.key) ?? -1);
    known.add(n);
    last.set(record.key, Math.max(n, last.get(record.key) ?? -1));
    return fine;
  });
}

describeOnOwnServers('a broker', () => {
  let own: OwnKafka;
  let opened: KafkaStorage[] = [];
  beforeAll(async () => void (own = await startOwnKafka()), 120_000);
  afterEach(async () => {
    await Promise.all(opened.map((kafka) => kafka.close()));
    opened = [];
  });
  afterAll(() => own?.stop(), 60_000);

  const open = async (prefix: string, more: Partial<KafkaOptions> = {}): Promise<KafkaStorage> => {
    const kafka = await openKafka({ ...own.options(prefix), waitMs, openMs: 30_000, ...more });
    opened.push(kafka);
    return kafka;
  };
  const broker = (): JavaServer => own.kafka.servers[0]!;
  const figure = ({ metrics }: KafkaStorage, wanted: string): unknown => metrics.find(({ name }) => name === wanted)!.read();

  it('that is killed and comes back loses nothing that was acknowledged, and nobody starts again', async () => {
    const kafka = await open('killed.');
    const consumer = await LogConsumer.join(kafka.log, { group: 'g', topics: [sources] });
    const view = kafka.views.open(sources);
    await view.ready;
    const acknowledged: number[] = [];
    const refusals: unknown[] = [];
    let n = 1;
    const done = new AbortController();
    const writing = Promise.all(
      Array.from({ length: 8 }, async () => {
        while (!done.signal.aborted) {
          const mine = n++;
          await kafka.log.append([seen(mine)]).then(
            () => acknowledged.push(mine),
            (error: unknown) => {
              refusals.push(error);
              return pause(50);
            },
          );
        }
      }),
    );
    await until('some are acknowledged', () => acknowledged.length > 200);
    await broker().kill('SIGKILL');
    await until('some are refused', () => refusals.length > 0);
    await until('it says so', () => kafka.health() !== undefined);
    const before = acknowledged.length;
    await broker().start();
    await until('more are acknowledged', () => acknowledged.length > before + 200);
    done.abort();
    await writing;

    for (const error of refusals) expect(error).toMatchObject({ code: 'log_unavailable', retryAfterS: 1 });
    await until('it is well', () => kafka.health() === undefined);
    await consumer.subscription.caughtUp();
    await view.caughtUp();
    const got = new Set(consumer.records.map(numberOf));
    expect(acknowledged.filter((one) => !got.has(one))).toEqual([]);
    for (const records of Map.groupBy(consumer.records, ({ key }) => key).values()) {
      const mine = acknowledged.filter((one) => `o/s${one % keys}` === records[0]!.key);
      expect(view.get(records[0]!.key)!.lastReceivedMs).toBeGreaterThanOrEqual(Math.max(...mine));
    }
    await consumer.commit();
    expect(await consumer.subscription.lag()).toBe(0);
  }, 180_000);

  it('that is away for long is waited for by those who asked before and by one who tries, and the others are refused at once', async () => {
    const kafka = await open('away.', { waitMs: 110_000 });
    await kafka.log.append([seen(1)]);
    await broker().kill('SIGKILL');
    let isWaiting = true;
    const waiting = kafka.log.append([seen(2)]).finally(() => (isWaiting = false));
    const refusals: unknown[] = [];
    await until('another one is refused', () => {
      kafka.log.append([seen(3)]).catch((error: unknown) => refusals.push(error));
      return refusals.length > 0;
    });
    expect([refusals[0], isWaiting]).toMatchObject([{ code: 'log_unavailable', retryAfterS: 1 }, true]);
    await broker().start();
    await waiting;
    // Each partition is led again at a moment of its own.
    await until('another one is taken', () =>
      kafka.log.append([seen(4)]).then(
        () => true,
        () => false,
      ),
    );
  }, 180_000);

  it('that came back while nobody had anything to write is as good as before', async () => {
    const kafka = await open('quiet.', { waitMs: 10_000 });
    await kafka.log.append([seen(1)]);
    await broker().kill('SIGKILL');
    await expect(kafka.log.append([seen(2)])).rejects.toMatchObject({ code: 'log_unavailable' });
    await until('it was tried in vain', () => Number(figure(kafka, 'headwater_log_send_failures')) > 0);
    await broker().start();
    await until('it is well', () => kafka.health() === undefined);
    await Promise.all([3, 4, 5].map((n) => kafka.log.append([seen(n)])));
  }, 120_000);

  it('that comes back is given nothing any more of what was given up', async () => {
    const [one, other] = [await open('late-copy.'), await open('late-copy.')];
    await one.log.append([seen(keys)]);
    await broker().kill('SIGKILL');
    await expect(one.log.append([seen(2 * keys)])).rejects.toMatchObject({ code: 'log_unavailable' });
    await broker().start();
    const add = async (kafka: KafkaStorage, n: number): Promise<void> =>
      until('it takes a record', () =>
        kafka.log.append([seen(n)]).then(
          () => true,
          () => false,
        ),
      );
    await add(other, 3 * keys);
    await add(one, 4 * keys);
    const consumer = await LogConsumer.join(other.log, { group: 'g', topics: [sources] });
    await consumer.subscription.caughtUp();
    // What is told as refused just after the start may have been written.
    expect([...new Set(consumer.records.map(numberOf))]).toEqual([1, 3, 4].map((n) => n * keys));
  }, 120_000);

  it('that is frozen fills the queue, which refuses what it cannot hold and takes all again afterwards', async () => {
    const kafka = await open('frozen.');
    const text = 'x'.repeat(250_000);
    await kafka.log.append([seen(0)]);
    await broker().kill('SIGSTOP');
    const outcomes = await Promise.allSettled(Array.from({ length: 400 }, (_, n) => kafka.log.append([seen(n + 1, { text })])));
    await broker().kill('SIGCONT');
    const codes = outcomes.map((one) => (one.status === 'rejected' ? (one.reason as { code: string }).code : 'taken'));
    const count = (code: string): number => codes.filter((one) => one === code).length;
    expect(count('taken')).toBe(0);
    expect(count('overloaded')).toBeGreaterThan(50);
    expect(count('log_unavailable')).toBeGreaterThan(50);
    await until('it takes records again', () =>
      kafka.log.append([seen(1_000)]).then(
        () => true,
        () => false,
      ),
    );
    await until('the queue is empty', () => figure(kafka, 'headwater_log_queue_bytes') === 0);
  }, 120_000);

  it('keeps the order of a key while it is frozen again and again', async () => {
    const kafka = await open('order.', { waitMs: 60_000 });
    const done = new AbortController();
    const writing = Promise.all(
      Array.from({ length: keys }, async (_, key) => {
        for (let n = key || keys; !done.signal.aborted; n += keys) await kafka.log.append([seen(n)]);
      }),
    );
    for (const ms of [1_000, 6_000, 200]) {
      await pause(500);
      await broker().kill('SIGSTOP');
      await pause(ms);
      await broker().kill('SIGCONT');
    }
    await pause(500);
    done.abort();
    await writing;
    const consumer = await LogConsumer.join(kafka.log, { group: 'g', topics: [sources] });
    await consumer.subscription.caughtUp();
    expect(consumer.records.length).toBeGreaterThan(20);
    expect(inOrder(consumer.records)).toBe(true);
  }, 120_000);

  it('that is not there at the start is waited for', async () => {
    await broker().kill('SIGKILL');
    const kafka = await open('late.', { openMs: 3_000 });
    expect(kafka.health()).toBeDefined();
    await expect(kafka.log.append([seen(1)])).rejects.toMatchObject({ code: 'log_unavailable' });
    const joining = LogConsumer.join(kafka.log, { group: 'g', topics: [sources] });
    const view = kafka.views.open(sources);
    await broker().start();
    await until('it is well', () => kafka.health() === undefined);
    await kafka.log.append([seen(2)]);
    const consumer = await joining;
    await consumer.has(1);
    await view.ready;
    await view.caughtUp();
    expect(view.get('o/s2')?.lastReceivedMs).toBe(2);
  }, 120_000);
});

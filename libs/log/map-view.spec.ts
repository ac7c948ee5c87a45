import { describe, expect, it, jest } from '@jest/globals';
import { TelemetryError } from '#model';
import { LogGap, type Following, type FollowOptions } from './follow.js';
import { MapView } from './map-view.js';
import type { AnyTopic, StreamRecord } from './topic.js';

const damaged = new Error('the log is damaged');
const topic = { name: 't', cleanup: 'compact' } as AnyTopic;

/** A log whose records are handed over by the test. */
class Hand {
  readonly readings: FollowOptions[] = [];
  caughtUp = (): Promise<void> => Promise.resolve();
  ageMs = 0;

  follow(options: FollowOptions): Following {
    this.readings.push(options);
    return { caughtUp: () => this.caughtUp(), ageMs: () => this.ageMs, lag: () => 0, positions: () => [], stop: () => Promise.resolve() };
  }

  give(...records: readonly (readonly [key: string, value: unknown])[]): void {
    const { take } = this.readings.at(-1)!;
    void take(records.map(([key, value], at) => ({ topic, partition: 0, offset: this.#offset + at, key, value }) as StreamRecord));
    this.#offset += records.length;
  }

  /** The next reading is given the same records again from there on. */
  rewind(offset: number): void {
    this.#offset = offset;
  }

  #offset = 0;
}

it.each([
  ['resolves when it has', () => Promise.resolve(), { status: 'fulfilled' }],
  ['rejects as the log does', () => Promise.reject(damaged), { status: 'rejected', reason: damaged }],
  [
    'rejects when nothing comes',
    () => Promise.withResolvers<void>().promise,
    { status: 'rejected', reason: { code: 'log_unavailable', retryAfterS: 1 } },
  ],
] as const)('a view that is to catch up %s', async (_, caughtUp, outcome) => {
  const log = new Hand();
  log.caughtUp = caughtUp;
  expect(await Promise.allSettled([new MapView(log, topic, 10).caughtUp()])).toMatchObject([outcome]);
});

it('a view is shown late where the log could not say for a while where its end is, at first and after a gap', async () => {
  const log = new Hand();
  const silentOnce = (): void => {
    log.caughtUp = () => {
      log.caughtUp = () => Promise.resolve();
      return Promise.reject(new TelemetryError('log_unavailable', 'silent'));
    };
  };
  silentOnce();
  const view = new MapView(log, topic);
  log.give(['a', 1]);
  await view.ready;
  expect(view.get('a')).toBe(1);
  silentOnce();
  log.readings[0]!.stopped(new LogGap('too long'));
  log.rewind(0);
  log.give(['a', 2]);
  expect(view.get('a')).toBe(1);
  await view.caughtUp();
  expect(view.get('a')).toBe(2);
});

it('the first scan of a view sorts nothing, however many keys it has read', async () => {
  const log = new Hand();
  const view = new MapView(log, topic);
  log.give(...Array.from({ length: 3000 }, (_, at) => [`${(at * 7919) % 3000}`, at] as const));
  await view.ready;
  const sorts = [jest.spyOn(Array.prototype, 'sort'), jest.spyOn(Array.prototype, 'toSorted')];
  const first = [...view.scan('', { after: '', limit: 3 })].map(([key]) => key);
  const calls = sorts.flatMap((sort) => sort.mock.calls);
  jest.restoreAllMocks();
  expect(first).toEqual(['0', '1', '10']);
  expect(calls).toEqual([]);
});

describe('a view that has missed something', () => {
  it('shows what it showed, and ages, until it has read the topic again; then it tells of what differs', async () => {
    const log = new Hand();
    const view = new MapView(log, topic);
    log.give(['gone', 1], ['stays', 1], ['changes', 1]);
    await view.ready;
    expect([...view.scan('')].length).toBe(3);
    const heard: unknown[] = [];
    view.changes(({ key, value }) => heard.push([key, value, [...view.scan('')]]));

    const again = Promise.withResolvers<void>();
    log.caughtUp = () => again.promise;
    log.ageMs = 60_000;
    log.readings[0]!.stopped(new LogGap('too long'));
    log.rewind(1);
    log.give(['stays', 1], ['changes', 1], ['changes', 2], ['new', 3]);
    log.ageMs = 0;
    expect([log.readings.length, view.get('gone'), heard]).toEqual([2, 1, []]);
    expect(view.ageMs()).toBeGreaterThanOrEqual(60_000);
    const caughtUp = view.caughtUp();
    again.resolve();
    await caughtUp;
    const shown = [
      ['changes', 2],
      ['new', 3],
      ['stays', 1],
    ];
    expect(heard).toEqual([
      ['gone', null, shown],
      ['changes', 2, shown],
      ['new', 3, shown],
    ]);
    expect(view.ageMs()).toBe(0);
    log.give(['gone', 4]);
    expect([view.get('gone'), heard.length]).toEqual([4, 4]);
  });

  it('tells of what has changed since it was shown, also when something is missed again while it is read', async () => {
    const log = new Hand();
    const view = new MapView(log, topic);
    log.give(['stays', 1], ['changes', 1]);
    await view.ready;
    const heard: unknown[] = [];
    view.changes(({ key, value }) => heard.push([key, value]));

    log.caughtUp = () => new Promise(() => undefined);
    log.readings[0]!.stopped(new LogGap('too long'));
    log.rewind(0);
    log.give(['stays', 1], ['changes', 1], ['changes', 2]);
    log.caughtUp = () => Promise.resolve();
    log.readings[1]!.stopped(new LogGap('too long again'));
    log.rewind(0);
    log.give(['stays', 1], ['changes', 1], ['changes', 2]);
    await view.caughtUp();
    expect(heard).toEqual([['changes', 2]]);
  });

  it('of a log that cannot be read any further ages for good', async () => {
    const log = new Hand();
    const view = new MapView(log, topic);
    await view.ready;
    log.ageMs = 7_000;
    log.readings[0]!.stopped(damaged);
    log.ageMs = 0;
    expect([log.readings.length, view.ageMs() >= 7_000]).toEqual([1, true]);
  });
});

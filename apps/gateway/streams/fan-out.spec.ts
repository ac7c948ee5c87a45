import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Metrics, Slices } from '#edge';
import { entry } from '#log';
import { openStorage, type Storage } from '#sqlite';
import { frameText, until } from '#testing';
import { events } from '#topics';
import type { Frame } from './frames.js';
import type { Outlet } from './outlet.js';
import { everything, logStream, onlyMetrics, type Filter } from './stream-kind.js';
import type { StreamReader } from './stream-reader.js';
import { streamLimits, Streams, type StreamLimits } from './streams.js';

const caller = { orgId: 'o', keyId: 'k', scopes: [] };

/** Takes all that it is sent at once, or nothing. */
class Viewer implements Outlet {
  readonly hasCursors = true;
  hasBegun = false;
  unsentBytes = 0;
  readonly firsts = new Set<Frame>();
  readonly values: number[] = [];
  code: number | undefined;

  constructor(private readonly takes: boolean) {}

  frames(frames: readonly Frame[]): void {
    this.firsts.add(frames[0]!);
    for (const { plain } of frames) {
      if (!this.takes) this.unsentBytes += plain.length;
      this.values.push((JSON.parse(frameText(plain)) as { value: number }).value);
    }
  }

  message(): void {}

  alive(): void {
    this.hasBegun = true;
  }

  close(code: number): void {
    this.code = code;
  }

  cut(): void {}
}

let dir: string;
let storage: Storage;
let streams: Streams;
let limits: StreamLimits;
let readers: StreamReader[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'headwater-fan-out-'));
  storage = await openStorage(dir);
});

beforeEach(() => {
  limits = { ...streamLimits };
  const its = new Proxy(streamLimits, { get: (_, name: keyof StreamLimits) => limits[name] });
  streams = new Streams(storage.log, Date.now, its, { refusalOf: () => undefined }, new Slices(), new Metrics());
});

afterAll(async () => {
  await storage.close();
  await rm(dir, { recursive: true });
});

/** Viewers who are sent what comes from now on, until the test has ended. */
async function watch(count: number, takes: boolean, filterOf: (at: number) => Filter = () => everything): Promise<Viewer[]> {
  const viewers = Array.from({ length: count }, () => new Viewer(takes));
  readers = viewers.map((viewer, at) => streams.open(caller, { kind: logStream, sourceId: 's', filter: filterOf(at) }, viewer));
  await until('all watch', () => viewers.every(({ hasBegun }) => hasBegun));
  return viewers;
}

function append(count: number, text?: string): Promise<void> {
  const its = Array.from({ length: count }, (_, n) => ({
    metric: 'e',
    timestampMs: n + 1,
    value: text ?? `${n}`,
    isJson: !text,
    tags: '',
    place: n,
    ordinal: 0,
  }));
  return storage.log.append([entry(events, { orgId: 'o', sourceId: 's', receivedMs: 1, origin: 'source', events: its })]);
}

describe('a body with thousands of events, of which hundreds are told', () => {
  afterEach(() => {
    for (const reader of readers) streams.leave(reader);
  });

  it('lets the event loop go on, and comes to each in order', async () => {
    const viewers = await watch(100, true);
    let turns = 0;
    const turn = (): void => {
      if (viewers.some(({ values }) => values.length > 0)) turns++;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    await append(1_000);
    await until('all have it', () => viewers.every(({ values }) => values.length === 1_000));
    clearImmediate(next);
    const inOrder = Array.from({ length: 1_000 }, (_, n) => n);
    for (const { values } of viewers) expect(values).toEqual(inOrder);
    expect(turns).toBeGreaterThan(10);
  });

  it('makes the frames once for all who want the same, in whatever order they came', async () => {
    const viewers = await watch(20, true, (at) => onlyMetrics(['e', `${at % 2}`]));
    await append(10);
    await until('all have it', () => viewers.every(({ values }) => values.length === 10));
    expect(new Set(viewers.flatMap(({ firsts }) => [...firsts])).size).toBe(2);
  });

  it('is not sent beyond what all together may hold', async () => {
    const viewers = await watch(100, false);
    limits = { ...limits, heldBytes: 1_000_000 };
    await append(2_000);
    await until('all have it or are closed', () => viewers.every(({ values, code }) => code === 1013 || values.length === 2_000));
    const held = viewers.reduce((sum, { unsentBytes }) => sum + unsentBytes, 0);
    // Those who are closed keep what they were sent before.
    expect(viewers.filter(({ code }) => code === undefined).reduce((sum, { unsentBytes }) => sum + unsentBytes, 0)).toBeLessThan(1_000_000);
    expect(held).toBeGreaterThan(1_000_000);
    expect(viewers.some(({ code }) => code === undefined)).toBe(true);
  });

  it('is not kept where more comes than so many can be sent: they are closed, and whoever comes next is told what comes next', async () => {
    const viewers = await watch(100, true);
    const text = 'x'.repeat(4_000);
    for (let bodies = 0; bodies < 9; bodies++) await append(2_000, text);
    await until('all are closed', () => viewers.every(({ code }) => code === 1013));
    const [next] = await watch(1, true);
    await append(3);
    await until('it has all', () => next!.values.length === 3);
    expect([next!.values, next!.code]).toEqual([[0, 1, 2], undefined]);
  });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Running } from '#runtime';
import { eventually, Link, Random, send, startEmbedded } from '#testing';
import { Device } from '../index.js';

let dir: string;
let server: Running;
let key: string;
let link: Link;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'headwater-'));
  await startServer();
  key = server.firstKey!;
  link = await Link.to(() => Number(new URL(server.url).port));
});

afterAll(async () => {
  link.close();
  await server.stop();
  await rm(dir, { recursive: true });
});

async function startServer(): Promise<void> {
  server = await startEmbedded({ dataDir: join(dir, 'data') });
  await server.opened;
}

/** What was handed over, with the stamps that it got. */
class Ledger {
  stamp: number | undefined;
  readonly values: [timestampMs: number, value: number][] = [];
  readonly events: string[] = [];
}

/** A clock of which each number is of another millisecond, in which hours pass in a second, and that jumps. */
class TestClock {
  #nowMs = Date.now() - 3_600_000;
  readonly #given = new Set<number>();

  constructor(private readonly random: Random) {}

  next(): number {
    this.#nowMs += this.random.whole(0, 3);
    if (this.random.whole(0, 400) === 0) this.#nowMs += this.random.whole(-60_000, 60_000);
    while (this.#given.has(this.#nowMs)) this.#nowMs++;
    this.#given.add(this.#nowMs);
    return this.#nowMs;
  }
}

describe('random cuts, silences, crashes of the server and restarts of the device', () => {
  it.each([1, 2])('leave every point stored once, in the order of the stamps (seed %i)', async (seed) => {
    const random = new Random(seed);
    const clock = new TestClock(random);
    const sourceId = `seed-${seed}`;
    const ledger = new Ledger();
    const open = (): Device => {
      const device = new Device({
        sourceId,
        url: `http://127.0.0.1:${link.port}`,
        apiKey: key,
        buffer: { folder: join(dir, sourceId) },
        batch: { everyMs: random.whole(0, 50), points: random.whole(1, 100), bytes: random.whole(100, 10_000) },
        clock: () => {
          const nowMs = clock.next();
          ledger.stamp ??= nowMs;
          return nowMs;
        },
        retry: { firstMs: 5, maxMs: 100, slowMs: 50 },
      });
      if (random.whole(0, 2) > 0) void device.connect();
      return device;
    };
    let device = open();
    let crashes = 0;
    for (let turn = 0; turn < 150; turn++) {
      for (let left = random.whole(0, 30); left > 0; left--) handOver(device, ledger, random);
      const fate = random.whole(0, 99);
      if (fate < 6) link.cut();
      else if (fate < 10) link.holdAnswers();
      else if (fate < 16) {
        await device.close({ timeoutMs: random.whole(0, 1) * 20 });
        device = open();
      } else if (fate < 18 && crashes++ < 1) {
        await server.crash();
        await startServer();
      }
      await pause(random.whole(0, 10));
    }
    link.cut();
    await device.flush();
    const { refused, dropped, buffered } = device.stats;
    expect({ refused, dropped, buffered }).toEqual({ refused: 0, dropped: 0, buffered: { points: 0, bytes: 0 } });
    await device.close();
    await eventually(async () => expect(await found(sourceId)).toEqual(expected(ledger)), 20_000);
  });
});

function handOver(device: Device, ledger: Ledger, random: Random): void {
  const kind = random.whole(0, 2);
  const value = kind === 1 ? 'same' : random.whole(0, 1e6);
  ledger.stamp = undefined;
  if (typeof value === 'number' && kind === 0) {
    device.metric('m', value);
    ledger.values.push([ledger.stamp!, value]);
  } else {
    device.event('e', value);
    ledger.events.push(`${ledger.stamp} ${value}`);
  }
}

const expected = ({ values, events }: Ledger): { values: number[]; times: number[]; events: string[] } => {
  const sorted = values.sort(([one], [other]) => one - other);
  return { times: sorted.map(([timeMs]) => timeMs), values: sorted.map(([, value]) => value), events: events.sort() };
};

async function found(sourceId: string): Promise<ReturnType<typeof expected>> {
  const get = async (path: string): Promise<unknown> =>
    JSON.parse((await send(server.url, { path: `/v1/sources/${sourceId}/${path}`, headers: { 'x-api-key': key } })).text);
  const { series } = (await get('metrics/query?metrics=m&interval=raw&last=2h')) as {
    series: { m: { timestamp_ms: number[]; value: number[] } };
  };
  const logs = (await get('logs?last=2h&limit=10000')) as { timestamp_ms: number; value: string }[];
  const events = logs.map(({ timestamp_ms: timeMs, value }) => `${timeMs} ${value}`);
  return { times: series.m.timestamp_ms, values: series.m.value, events };
}

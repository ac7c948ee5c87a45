import { setTimeout as pause } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { Device } from '#client';
import { eventually } from '../eventually.js';
import { send } from '../http/send.js';
import type { Link } from '../link.js';
import { Random } from '../random.js';

/** Where a device is tried. */
export interface Ground {
  /** The way of the device to the server. */
  readonly link: Link;
  readonly key: string;
  /** The way of those who read: nobody disturbs it. */
  readonly url: () => string;
  /** For the buffer of the device. */
  readonly folder: string;
  /** Kills something that the server consists of, and starts it again. */
  readonly crash: () => Promise<void>;
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

/** Has a device hand over points, with and without a connection, while what a seed chooses breaks. In the end every point is stored once, in the order of the stamps. Resolves to how many there were. */
export async function tryDevice(seed: number, { link, key, url, folder, crash }: Ground): Promise<number> {
  const random = new Random(seed);
  // How often the clock is asked depends on the time that things take: what breaks, and when, must not.
  const clock = new TestClock(new Random(~seed));
  const sourceId = `seed-${seed}`;
  const ledger = new Ledger();
  const open = (): Device => {
    const device = new Device({
      sourceId,
      url: `http://127.0.0.1:${link.port}`,
      apiKey: key,
      buffer: { folder },
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
    } else if (fate < 18 && crashes++ < 1) await crash();
    await pause(random.whole(0, 10));
  }
  link.cut();
  await device.flush();
  const { refused, dropped, buffered } = device.stats;
  expect({ refused, dropped, buffered }).toEqual({ refused: 0, dropped: 0, buffered: { points: 0, bytes: 0 } });
  await device.close();
  await eventually(async () => expect(await found(url(), key, sourceId)).toEqual(expected(ledger)));
  return ledger.values.length + ledger.events.length;
}

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

async function found(url: string, key: string, sourceId: string): Promise<ReturnType<typeof expected>> {
  const get = async (path: string): Promise<unknown> =>
    JSON.parse((await send(url, { path: `/v1/sources/${sourceId}/${path}`, headers: { 'x-api-key': key } })).text);
  const { series } = (await get('metrics/query?metrics=m&interval=raw&last=2h')) as {
    series: { m: { timestamp_ms: number[]; value: number[] } };
  };
  const logs = (await get('logs?last=2h&limit=10000')) as { timestamp_ms: number; value: string }[];
  const events = logs.map(({ timestamp_ms: timeMs, value }) => `${timeMs} ${value}`);
  return { times: series.m.timestamp_ms, values: series.m.value, events };
}

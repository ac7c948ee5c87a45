import { describe, expect, it } from '@jest/globals';
import type { EventBatch, PointBatch } from '#model';
import { frameText } from '#testing';
import { cursorText, parseCursor, type StreamPlace } from './cursor.js';
import { Batch, type Frame } from './frames.js';
import type { Outlet } from './outlet.js';
import { everything, logStream, metricStream, type StreamKind } from './stream-kind.js';
import { StreamReader } from './stream-reader.js';

const kib = 1024;
const mib = 1024 * kib;

/** A reader that takes as much as the test says. */
class Held implements Outlet {
  unsentBytes = 0;
  readonly sent: { points?: { metric: string; value: number }[]; value?: number }[] = [];
  code: number | undefined;

  constructor(readonly hasCursors: boolean) {}

  frames(frames: readonly Frame[]): void {
    for (const frame of frames) this.message(frameText(this.hasCursors ? frame.marked : frame.plain));
  }

  message(json: string): void {
    this.sent.push(JSON.parse(json) as Held['sent'][number]);
  }

  alive(): void {}

  close(code: number): void {
    this.code = code;
  }

  cut(): void {}
}

const caller = { orgId: 'o', keyId: 'k', scopes: [] };
const mark = ({ offset, index }: StreamPlace, timeMs: number): string =>
  cursorText({ history: 'h', letter: 'm', partition: 0, offset, index, timeMs });
const tags = '';

function batch(kind: StreamKind, offset: number, values: Readonly<Record<string, readonly number[]>>): Batch {
  const of = { orgId: 'o', sourceId: 's', receivedMs: 1 };
  const runs = Object.entries(values);
  const series = runs.map(([metric, its]) => ({ metric, tags, timestampMs: Float64Array.from(its), value: Float64Array.from(its) }));
  const events = runs.flatMap(([metric, its]) =>
    its.map((n) => ({ metric, timestampMs: n, value: String(n), isJson: true, tags, place: 0, ordinal: 0 })),
  );
  const value: PointBatch | EventBatch = kind.isMerged ? { ...of, series } : { ...of, origin: 'source', events };
  return new Batch(kind, [{ topic: kind.topic, partition: 0, offset, key: 'o/s', value, appendedMs: 5, headers: {}, bytes: 1 }], mark);
}

function open(kind: StreamKind, hasCursors = false): { readonly reader: StreamReader; readonly outlet: Held } {
  const outlet = new Held(hasCursors);
  const reader = new StreamReader(kind, 'o/s', everything, caller, outlet);
  if (hasCursors) reader.place = { offset: 0, index: 0 };
  return { reader, outlet };
}

/** All steps of a delivery. */
function deliver(reader: StreamReader, its: Batch): void {
  for (const _ of reader.deliver(its));
}

const valuesOf = ({ sent }: Held): unknown[] =>
  sent.flatMap<unknown>(({ points, value }) => points?.map(({ metric, value: its }) => [metric, its]) ?? [value]);

describe('a reader that does not keep up', () => {
  it('of metrics gets the newest value of each once it has taken what was sent', () => {
    const { reader, outlet } = open(metricStream);
    outlet.unsentBytes = 64 * kib;
    deliver(reader, batch(metricStream, 1, { a: [1, 2] }));
    outlet.unsentBytes++;
    for (let n = 3; n < 100; n++) deliver(reader, batch(metricStream, n, n % 2 ? { a: [n, n + 1] } : { b: [n] }));
    reader.catchUp();
    expect([valuesOf(outlet), reader.isWaiting]).toEqual([
      [
        ['a', 1],
        ['a', 2],
      ],
      true,
    ]);
    outlet.unsentBytes = 0;
    reader.catchUp();
    expect([valuesOf(outlet).slice(2), reader.isWaiting]).toEqual([
      [
        ['a', 100],
        ['b', 98],
      ],
      false,
    ]);
    deliver(reader, batch(metricStream, 200, { a: [7, 8] }));
    expect(valuesOf(outlet).slice(4)).toEqual([
      ['a', 7],
      ['a', 8],
    ]);
  });

  it('holds nothing and waits for nothing once nobody reads any more', () => {
    const { reader, outlet } = open(metricStream);
    outlet.unsentBytes = 100 * kib;
    deliver(reader, batch(metricStream, 1, { a: [1] }));
    expect([reader.isWaiting, reader.heldBytes > outlet.unsentBytes]).toEqual([true, true]);
    reader.end();
    expect([reader.isWaiting, reader.heldBytes]).toEqual([false, outlet.unsentBytes]);
  });

  it.each([
    ['events', logStream, false],
    ['metrics with cursors', metricStream, true],
    ['events with cursors', logStream, true],
  ] as const)('of %s gets all of it', (_, kind, hasCursors) => {
    const { reader, outlet } = open(kind, hasCursors);
    outlet.unsentBytes = 900 * kib;
    for (let n = 0; n < 10; n++) deliver(reader, batch(kind, n, { a: [n, n] }));
    expect([valuesOf(outlet).length, reader.isWaiting]).toEqual([20, false]);
  });

  it.each([metricStream, logStream])('is closed with 1013 after 10 seconds above 1 MiB, and not for less', (kind) => {
    const { reader, outlet } = open(kind);
    for (const [ms, bytes] of [
      [0, mib + 1],
      [9_999, mib + 1],
      [10_000, mib],
      [10_001, mib + 1],
      [20_000, 2 * mib],
    ] as const) {
      outlet.unsentBytes = bytes;
      reader.look(ms);
      expect([ms, outlet.code]).toEqual([ms, undefined]);
    }
    reader.look(20_001);
    expect([outlet.code, reader.isClosed]).toEqual([1013, true]);
  });

  it('is closed at once when more than 16 MiB are unsent, or 4 MiB of newest values wait', () => {
    const events = open(logStream);
    events.outlet.unsentBytes = 16 * mib + 1;
    deliver(events.reader, batch(logStream, 1, { a: [1] }));
    const metrics = open(metricStream);
    metrics.outlet.unsentBytes = mib;
    for (let n = 0; n < 60; n++)
      deliver(metrics.reader, batch(metricStream, n, Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`${n} ${at}`, [n]]))));
    expect([events.outlet.code, metrics.outlet.code]).toEqual([1013, 1013]);
  });
});

describe('frames', () => {
  it('are made once for all readers of one kind and filter', () => {
    const one = batch(metricStream, 1, { a: [1], b: [2] });
    const [first] = one.frames(everything);
    expect(one.frames({ ...everything })[0]).toBe(first);
    expect(first!.plain).toBe(first!.plain);
    expect([first!.marked, first!.event]).toEqual([first!.marked, first!.event]);
  });

  it('of many points are cut, each with the place behind it, and a reader in the middle gets the rest', () => {
    const all = Array.from({ length: 5000 }, (_, n) => n);
    const frames = batch(metricStream, 7, { a: all }).frames(everything);
    expect(frames.length).toBeGreaterThan(3);
    const { cursor, points } = JSON.parse(frameText(frames[1]!.marked)) as { cursor: string; points: { value: number }[] };
    const { offset, index } = parseCursor(cursor)!;
    expect([offset, index]).toEqual([7, points.at(-1)!.value + 1]);
    const { reader, outlet } = open(metricStream, true);
    reader.place = { offset, index };
    deliver(reader, batch(metricStream, 7, { a: all }));
    deliver(reader, batch(metricStream, 7, { a: all }));
    expect(valuesOf(outlet)).toEqual(all.slice(index).map((value) => ['a', value]));
  });
});

describe('a cursor', () => {
  it('comes back as it was, and nothing else is one', () => {
    const cursor = { history: '0123456789abcdef', letter: 'l', partition: 23, offset: 2 ** 50, index: 9999, timeMs: 1_769_860_800_000 };
    expect(parseCursor(cursorText(cursor))).toEqual(cursor);
    for (const text of ['', 'a', 'h.m1.1.1', 'h.m1.1.1.1.1', 'h.m1.-1.1.1', 'h.m1.1.1.1\n', `h.m1.${'z'.repeat(11)}.1.1`])
      expect(parseCursor(text)).toBeUndefined();
  });
});

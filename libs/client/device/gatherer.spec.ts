import { describe, expect, it } from '@jest/globals';
import { Random } from '#testing';
import { type Gatherer, gatherer as gathererOf, maxBatchPoints } from './gatherer.js';
import { eventText, metricText } from './point.js';

const event = eventText('e', 'same', undefined);

/** The times in a batch. */
const times = (gatherer: Gatherer): number[] =>
  [...(gatherer.cut()?.text.matchAll(/"timestamp":(\d+)/g) ?? [])].map(([, time]) => Number(time));

describe('a gatherer', () => {
  it('stamps with the clock, and counts characters, bytes and points', () => {
    const gatherer = gathererOf(() => 1_800_000_000_000.4);
    gatherer.add(metricText('ü', 1, undefined), undefined);
    gatherer.add(event, 1_800_000_000_005);
    const { chars, points } = gatherer;
    const batch = gatherer.cut()!;
    expect(batch).toEqual({
      text: '{"metric":"ü","timestamp":1800000000000,"value":1},\n{"class":"event","metric":"e","timestamp":1800000000005,"value":"same"}',
      points,
      bytes: Buffer.byteLength(batch.text),
    });
    expect(chars).toBe(batch.text.length - ',\n'.length);
    expect(gatherer.cut()).toBeUndefined();
  });

  it('is full with a thousand points', () => {
    const gatherer = gathererOf(Date.now);
    for (let at = 0; at < maxBatchPoints; at++) {
      expect(gatherer.isFull).toBe(false);
      gatherer.add(metricText('m', at, undefined), undefined);
    }
    expect(gatherer.isFull).toBe(true);
  });

  it('lets equal events of one batch have one time, and those of the next batch another', () => {
    let nowMs = 1_800_000_000_000;
    const gatherer = gathererOf(() => nowMs);
    const hand = (): void => gatherer.add(event, undefined);
    hand();
    hand();
    expect(times(gatherer)).toEqual([nowMs, nowMs]);
    hand();
    hand();
    expect(times(gatherer)).toEqual([nowMs + 1, nowMs + 1]);
    hand();
    gatherer.add(eventText('e', 'other', undefined), undefined);
    expect(times(gatherer)).toEqual([nowMs + 2, nowMs]);
    nowMs += 2;
    hand();
    expect(times(gatherer)).toEqual([nowMs + 1]);
    nowMs += 100;
    hand();
    expect(times(gatherer)).toEqual([nowMs]);
  });

  it('never gives two batches an equal event while the clock goes on', () => {
    const random = new Random(7);
    let nowMs = 1_800_000_000_000;
    const gatherer = gathererOf(() => nowMs);
    const seen = new Set<number>();
    for (let batch = 0; batch < 2000; batch++) {
      for (let left = random.whole(0, 3); left > 0; left--) {
        nowMs += random.whole(0, 1);
        gatherer.add(event, undefined);
      }
      const own = new Set(times(gatherer));
      expect([...own].filter((time) => seen.has(time))).toEqual([]);
      for (const time of own) seen.add(time);
    }
  });
});

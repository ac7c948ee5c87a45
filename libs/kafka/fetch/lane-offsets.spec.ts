import { describe, expect, it } from '@jest/globals';
import type { KafkaMessage } from 'kafkajs';
import { AvroCodec, sources } from '#topics';
import { until } from '#testing';
import { Lane } from './lane.js';

const message = (offset: number): KafkaMessage => ({
  key: Buffer.from('k'),
  value: Buffer.from('no record'),
  timestamp: '1',
  attributes: 0,
  offset: String(offset),
  headers: {},
});

async function laneFrom(from: number): Promise<{ readonly lane: Lane; readonly given: number[]; readonly shrunk: () => number }> {
  const registry = { register: () => Promise.resolve(1), schema: () => Promise.resolve(undefined) };
  const given: number[] = [];
  let shrunk = 0;
  const lane = new Lane({
    topic: sources,
    partition: 0,
    from,
    codec: await AvroCodec.open(registry, [sources]),
    receiver: { take: () => undefined, unreadable: ({ offset }) => void given.push(offset) },
    ended: new AbortController().signal,
    progress: () => undefined,
    shrunk: () => void shrunk++,
  });
  return { lane, given, shrunk: () => shrunk };
}

describe('a lane that wants offset 10', () => {
  it.each([
    ['takes what begins there', [[10, 20]], [true], 0],
    [
      'doubts what begins later, as after retention, once',
      [
        [15, 20],
        [15, 20],
      ],
      [false, true],
      0,
    ],
    [
      'doubts what begins earlier, as a fetch of an earlier assignment does',
      [
        [3, 20],
        [10, 20],
      ],
      [false, true],
      0,
    ],
    [
      'never takes from earlier what is in the log still',
      [
        [3, 20],
        [3, 20],
        [3, 20],
      ],
      [false, false, false],
      0,
    ],
    [
      'believes an end before it when it comes twice',
      [
        [0, 5],
        [0, 5],
      ],
      [false, false],
      1,
    ],
    [
      'does not believe an end before it that comes once',
      [
        [0, 5],
        [10, 20],
      ],
      [false, true],
      0,
    ],
    [
      'forgets a doubt that was settled',
      [
        [15, 20],
        [10, 20],
        [15, 20],
      ],
      [false, true, false],
      0,
    ],
  ] as const)('%s', async (_, fetches, accepted, shrunk) => {
    const subject = await laneFrom(10);
    expect(fetches.map(([from, high]) => subject.lane.accepts({ from, high }))).toEqual(accepted);
    expect(subject.shrunk()).toBe(shrunk);
  });

  it('has marks of transactions committed with the record before them, and with none', async () => {
    const { lane, given } = await laneFrom(10);
    expect(lane.behind(10)).toBe(10);
    lane.skip(12);
    expect(lane.behind(10)).toBe(12);
    lane.push([message(12), message(14)], 17);
    await until('both are given', () => given.length === 2 && lane.taken === 17);
    expect([12, 13, 15].map((offset) => lane.behind(offset))).toEqual([12, 13, 17]);
  });
});

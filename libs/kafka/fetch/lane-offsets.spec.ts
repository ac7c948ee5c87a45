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

async function laneFrom(from: number): Promise<{ readonly lane: Lane; readonly given: number[] }> {
  const registry = { register: () => Promise.resolve(1), schema: () => Promise.resolve(undefined) };
  const given: number[] = [];
  const lane = new Lane({
    topic: sources,
    partition: 0,
    from,
    codec: await AvroCodec.open(registry, [sources]),
    receiver: { take: () => undefined, unreadable: ({ offset }) => void given.push(offset) },
    ended: new AbortController().signal,
    progress: () => undefined,
  });
  return { lane, given };
}

describe('a lane', () => {
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

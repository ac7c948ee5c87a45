import { describe, expect, it } from '@jest/globals';
import { partitionOf } from '#log';
import { Random } from '#testing';
import { kafkajs } from './kafkajs.js';

describe('the partition of a key', () => {
  const partitionMetadata = Array.from({ length: 24 }, (_, partitionId) => ({ partitionId, leader: 1 }));
  const choose = kafkajs.Partitioners.DefaultPartitioner() as unknown as (of: object) => number;

  it.each([1, 2, 3, 4])('is the one that the partitioner of Kafka clients chooses, seed %i', (seed) => {
    const random = new Random(seed);
    for (let n = 0; n < 500; n++) {
      const key = Buffer.from(Array.from({ length: random.whole(0, 40) }, () => random.whole(0, 255)));
      expect([key.toString('hex'), partitionOf(key, 24)]).toEqual([
        key.toString('hex'),
        choose({ topic: 't', partitionMetadata, message: { key } }),
      ]);
    }
  });
});

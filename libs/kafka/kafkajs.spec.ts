import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';
import { answerIn } from './kafkajs.js';

const require = createRequire(import.meta.url);
type Response = { readonly parse: (answer: object) => Promise<object> };
const response = (of: string, version: number): Response => require(`kafkajs/src/protocol/requests/${of}/v${version}/response`) as Response;

describe('what kafkajs makes of an answer', () => {
  const answer = (...codes: readonly number[]): object => ({
    topics: [{ topicName: 't', partitions: codes.map((errorCode, partition) => ({ partition, errorCode })) }],
  });

  it.each([0, 1, 2, 3, 4, 5, 6, 7])('to a send tells of each partition, version %i', async (version) => {
    const { parse } = response('produce', version);
    await expect(parse(answer(0, 0))).resolves.toEqual(answer(0, 0));
    const error: unknown = await parse(answer(0, 19, 6)).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ type: 'NOT_ENOUGH_REPLICAS', retriable: false });
    const codes = [0, 19, 6].map((errorCode, partition) => ({ topic: 't', partition, errorCode }));
    expect([answerIn(new Error('wrapped', { cause: error })), answerIn(new Error('away'))]).toEqual([codes, undefined]);
  });

  it.each([0, 1, 2, 3, 4, 5, 6])('about leaders has those that there are when one is missing, version %i', async (version) => {
    const { parse } = response('metadata', version);
    const described = (partitionErrorCode: number, topicErrorCode = 0): object => ({
      topicMetadata: [
        {
          topicErrorCode,
          topic: 't',
          partitionMetadata: [
            { partitionErrorCode: 0, partitionId: 0, leader: 1 },
            { partitionErrorCode, partitionId: 1, leader: -1 },
          ],
        },
      ],
    });
    await expect(parse(described(5))).resolves.toEqual(described(0));
    await expect(parse(described(29))).rejects.toMatchObject({ type: 'TOPIC_AUTHORIZATION_FAILED' });
    await expect(parse(described(5, 3))).rejects.toMatchObject({ type: 'UNKNOWN_TOPIC_OR_PARTITION' });
  });
});

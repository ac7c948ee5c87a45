import type { AnyTopic } from '#log';
import type { AvroCodec } from '#topics';
import type { KafkaAddress } from './client.js';
import { Member } from './group/member.js';
import type { Refused } from './kafka-record.js';
import { ownGroup } from './names.js';
import { logUnavailable } from './trouble.js';

export interface ReadOptions {
  readonly address: KafkaAddress;
  readonly codec: AvroCodec;
  /** As Kafka calls it; it has one partition. */
  readonly name: string;
  /** One that the codec does not know, so that records come as they are. */
  readonly topic: AnyTopic;
  /** Offset of the first record, and the one after the last. */
  readonly from: number;
  readonly to: number;
  readonly take: (record: Refused) => Promise<void>;
}

const sessionMs = 30_000;

/** Hands over records of a topic as they stand in the log, one after the other, each once. Rejects with what `take` does. */
export async function readTopic({ address, codec, name, topic, from, to, take }: ReadOptions): Promise<void> {
  if (from >= to) return;
  let next = from;
  const failed = Promise.withResolvers<never>();
  const member = new Member({
    address,
    group: () => ownGroup(name),
    topics: new Map([[name, topic]]),
    codec,
    sessionMs,
    startsAt: async () => () => next,
    receiver: () => ({
      take: () => undefined,
      unreadable: async (record) => {
        if (record.offset < next || record.offset >= to) return;
        try {
          await take(record);
        } catch (error) {
          failed.reject(error);
          throw error;
        }
        next = record.offset + 1;
      },
    }),
    shrunk: () => failed.reject(logUnavailable(`Kafka has lost records of ${name}.`)),
  });
  const done = async (): Promise<void> => {
    await member.join();
    await member.reached(new Map([[name, [{ low: from, high: to }]]]));
  };
  try {
    await Promise.race([done(), failed.promise]);
  } finally {
    await member.crash();
  }
}

import type { AnyTopic, Unreadable } from '#log';
import type { AvroCodec } from '#topics';
import type { Asker } from './asker.js';
import type { KafkaAddress } from './client.js';
import { Member } from './group/member.js';
import { ownGroup } from './names.js';
import { extentsOf } from './offsets.js';

export interface ReadOptions {
  readonly address: KafkaAddress;
  readonly codec: AvroCodec;
  readonly asker: Asker;
  /** As Kafka calls it. */
  readonly name: string;
  /** One that the codec does not know, so that records come as they are. */
  readonly topic: AnyTopic;
  /** Offset of the first record, in every partition. */
  readonly from: number;
  readonly limit: number;
}

const sessionMs = 30_000;

/** Records of a topic as they stand in the log, from an offset to the end that it has at the call. */
export async function readTopic({ address, codec, asker, name, topic, from, limit }: ReadOptions): Promise<readonly Unreadable[]> {
  const found: Unreadable[] = [];
  const enough = Promise.withResolvers<void>();
  const extents = await extentsOf(asker, [name]);
  const member = new Member({
    address,
    group: ownGroup(name),
    topics: new Map([[name, topic]]),
    codec,
    sessionMs,
    startsAt: async () => (place) => Math.max(from, extents.get(name)?.[place.partition]?.low ?? 0),
    receiver: () => ({
      take: () => undefined,
      unreadable: (record) => {
        if (found.push(record) >= limit) enough.resolve();
      },
    }),
  });
  try {
    await member.join();
    await Promise.race([member.reached(extents), enough.promise]);
  } finally {
    await member.crash();
  }
  return found.slice(0, limit);
}

import type { Asker } from './asker.js';

/** Where a partition begins, and the offset of its next record. */
export interface Extent {
  readonly low: number;
  readonly high: number;
}

/** The extents of the partitions of each topic, by topic and partition. */
export type Extents = ReadonlyMap<string, readonly Extent[]>;

/** @param topics as Kafka calls them. */
export async function extentsOf(asker: Asker, topics: readonly string[]): Promise<Extents> {
  const found = await Promise.all(
    topics.map((topic) =>
      asker.ask(async (admin) => {
        const extents: Extent[] = [];
        for (const { partition, low, high } of await admin.fetchTopicOffsets(topic))
          extents[partition] = { low: Number(low), high: Number(high) };
        return [topic, extents] as const;
      }),
    ),
  );
  return new Map(found);
}

/** The offsets that a group has committed, by topic and partition; -1 where it has none. */
export async function committedBy(asker: Asker, group: string, topics: readonly string[]): Promise<ReadonlyMap<string, readonly number[]>> {
  const found = await asker.ask((admin) => admin.fetchOffsets({ groupId: group, topics: [...topics] }));
  return new Map(
    found.map(({ topic, partitions }) => {
      const offsets: number[] = [];
      for (const { partition, offset } of partitions) offsets[partition] = Number(offset);
      return [topic, offsets];
    }),
  );
}

import type { Admin } from 'kafkajs';
import type { Asker } from './asker.js';
import { committedBy, extentsOf, type Extents } from './offsets.js';

/** Where topics begin and end, by topic as Kafka calls it and partition. */
export type Ends = Extents;

/** How far a group is in one partition. */
export interface Progress {
  readonly group: string;
  readonly topic: string;
  readonly partition: number;
  /** Offset of the next record that it wants. */
  readonly offset: number;
  /** Records that it has not committed. */
  readonly lag: number;
}

/** Where a group shall go on: with a record, with the first record of a time or later (Unix milliseconds), or with the first there is. */
export type Start = { readonly offset: number } | { readonly timestampMs: number } | 'beginning';

/** Groups of views, which keep no offsets. */
const ofAView = /\.view-[0-9a-f-]{36}$/;

/** Consumer groups, seen from outside. All of it rejects `log_unavailable`. */
export class Groups {
  constructor(
    private readonly asker: Asker,
    private readonly prefix: string,
  ) {}

  /** Where topics end now. */
  ends(topics: readonly string[]): Promise<Ends> {
    return extentsOf(
      this.asker,
      topics.map((topic) => this.prefix + topic),
    );
  }

  /** Records before these ends that a group has not committed. */
  async missing(group: string, ends: Ends): Promise<number> {
    return (await this.progress(group, ends)).reduce((sum, { lag }) => sum + lag, 0);
  }

  /** Every partition up to these ends, whether or not the group has read of it. */
  async progress(group: string, ends: Ends): Promise<readonly Progress[]> {
    const committed = await committedBy(this.asker, this.prefix + group, [...ends.keys()]);
    return Array.from(ends, ([topic, extents]) =>
      extents.map(({ low, high }, partition) => {
        const offset = Math.max(low, committed.get(topic)?.[partition] ?? 0);
        return { group, topic: topic.slice(this.prefix.length), partition, offset, lag: Math.max(0, high - offset) };
      }),
    ).flat();
  }

  /** The names of all groups that keep offsets. */
  async names(): Promise<readonly string[]> {
    const { groups } = await this.asker.ask((admin) => admin.listGroups());
    const own = groups.map(({ groupId }) => groupId).filter((name) => name.startsWith(this.prefix) && !ofAView.test(name));
    return own.map((name) => name.slice(this.prefix.length)).toSorted();
  }

  /** The names of the topics that a group has committed offsets of. */
  async topics(group: string): Promise<readonly string[]> {
    const found = await this.asker.ask((admin) => admin.fetchOffsets({ groupId: this.prefix + group }));
    return found.map(({ topic }) => topic.slice(this.prefix.length)).toSorted();
  }

  /** Moves a group that has no members. Rejects when it has some. */
  async move(group: string, topic: string, to: Start): Promise<void> {
    const name = this.prefix + topic;
    await this.asker.ask(async (admin) => {
      const partitions = await startsIn(admin, name, to);
      await admin.setOffsets({ groupId: this.prefix + group, topic: name, partitions });
    });
  }
}

async function startsIn(admin: Admin, topic: string, to: Start): Promise<{ partition: number; offset: string }[]> {
  const extents = await admin.fetchTopicOffsets(topic);
  if (to !== 'beginning' && 'timestampMs' in to) return admin.fetchTopicOffsetsByTimestamp(topic, to.timestampMs);
  const wanted = to === 'beginning' ? 0 : to.offset;
  return extents.map(({ partition, low, high }) => ({ partition, offset: String(Math.min(Number(high), Math.max(Number(low), wanted))) }));
}

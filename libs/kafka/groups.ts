import type { Admin } from 'kafkajs';
import type { Asker } from './asker.js';
import type { KafkaAddress } from './client.js';
import { committedBy, extentsOf, type Extents } from './offsets.js';
import { setOffsets } from './set-offsets.js';

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

/** Kafka's codes for a group that has members, and for one that is not there. */
const left: readonly number[] = [68, 69];

/** Consumer groups, seen from outside. All of it rejects `log_unavailable`. */
export class Groups {
  private readonly prefix: string;

  constructor(
    private readonly address: KafkaAddress,
    private readonly asker: Asker,
  ) {
    this.prefix = address.prefix ?? '';
  }

  /** Where topics end now. */
  ends(topics: readonly string[]): Promise<Ends> {
    return extentsOf(
      this.asker,
      topics.map((topic) => this.prefix + topic),
    );
  }

  /**
   * A time before which all records were appended that stood before these offsets of each partition, to the second; Unix milliseconds. Offsets
   * of 0 have none before them.
   */
  async appendedBefore(topic: string, offsets: readonly number[]): Promise<number> {
    let [fromMs, toMs] = [0, Date.now()];
    while (toMs - fromMs > 1000) {
      const middleMs = Math.floor((fromMs + toMs) / 2);
      const first = await this.asker.ask((admin) => admin.fetchTopicOffsetsByTimestamp(this.prefix + topic, middleMs));
      const isLater = first.every(({ partition, offset }) => offsets[partition] === 0 || Number(offset) > offsets[partition]!);
      if (isLater) toMs = middleMs;
      else fromMs = middleMs;
    }
    return toMs;
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
    const own = groups.map(({ groupId }) => groupId).filter((name) => name.startsWith(this.prefix));
    return own.map((name) => name.slice(this.prefix.length)).toSorted();
  }

  /** The names of the topics that a group has committed offsets of. */
  async topics(group: string): Promise<readonly string[]> {
    const found = await this.asker.ask((admin) => admin.fetchOffsets({ groupId: this.prefix + group }));
    return found.map(({ topic }) => topic.slice(this.prefix.length)).toSorted();
  }

  /** How many members a group has. */
  async members(group: string): Promise<number> {
    const { groups } = await this.asker.ask((admin) => admin.describeGroups([this.prefix + group]));
    return groups[0]?.members.length ?? 0;
  }

  /** Deletes a group and its offsets. One that has members stays, and one that is gone is no mistake. */
  async delete(group: string): Promise<void> {
    await this.asker.ask((admin) =>
      admin.deleteGroups([this.prefix + group]).catch((error: { readonly groups?: readonly { readonly errorCode: number }[] }) => {
        if (!error.groups?.every(({ errorCode }) => left.includes(errorCode))) throw error;
      }),
    );
  }

  /**
   * Moves a group that has no members, in no partition forward: what it has not committed it has not done, and would never do.
   * Rejects with a sentence when it has some.
   */
  async move(group: string, topic: string, to: Start): Promise<void> {
    const [id, name] = [this.prefix + group, this.prefix + topic];
    const members = await this.members(group);
    if (members > 0) throw new Error(`group ${group} has ${members} members: stop them first`);
    const starts = await this.asker.ask((admin) => startsIn(admin, name, to));
    const [extents, committed] = await Promise.all([extentsOf(this.asker, [name]), committedBy(this.asker, id, [name])]);
    const positions = extents.get(name)!.map(({ low }, partition) => {
      const offset = Math.max(low, Math.min(starts(partition), committed.get(name)?.[partition] ?? low));
      return { topic: name, partition, offset };
    });
    await setOffsets(this.address, id, positions);
  }
}

/** The offset that is asked for, by partition, whether or not there is a record. */
async function startsIn(admin: Admin, topic: string, to: Start): Promise<(partition: number) => number> {
  if (to === 'beginning') return () => 0;
  if ('offset' in to) return () => to.offset;
  const found = await admin.fetchTopicOffsetsByTimestamp(topic, to.timestampMs);
  const offsets = new Map(found.map(({ partition, offset }) => [partition, Number(offset)]));
  return (partition) => offsets.get(partition) ?? 0;
}

import {
  letterTopicOf,
  readLog,
  withoutEmptyLetters,
  type AnyTopic,
  type Groups,
  type GroupsReport,
  type Moved,
  type Progress,
  type Start,
} from '#log';
import { purgeGroup } from './letter-places.js';
import { nextOffsets } from './positions.js';
import type { FileLog } from './file-log.js';

/** What is counted of one topic of one group, by partition. */
interface Counted {
  readonly group: string;
  readonly topic: string;
  readonly next: readonly number[];
  readonly lag: number[];
}

/** The consumer groups of a data folder, seen from outside. */
export class SqliteGroups implements Groups {
  constructor(
    private readonly log: FileLog,
    private readonly topics: readonly AnyTopic[],
  ) {}

  async names(): Promise<readonly string[]> {
    return (await this.log.groupNames()).filter((name) => name !== purgeGroup);
  }

  /** Reads the whole log, because nothing keeps count of its records. */
  async report(): Promise<GroupsReport> {
    const topics = this.topics.flatMap((topic) => [topic, letterTopicOf(topic)]);
    const counted = await this.#counted(topics);
    const byTopic = Map.groupBy(counted, ({ topic }) => topic);
    const records = new Map(topics.map(({ name, partitions }) => [name, Array<number>(partitions).fill(0)]));
    await readLog(this.log, {
      topics,
      from: 'beginning',
      asBytes: true,
      take: (batch) => {
        for (const { topic, partition: at, offset } of batch) {
          // Earlier versions put dead letters into the partitions of the topic that they came from.
          const partition = at % topic.partitions;
          records.get(topic.name)![partition]!++;
          for (const { next, lag } of byTopic.get(topic.name) ?? []) if (offset >= next[partition]!) lag[partition]!++;
        }
      },
    });
    const sizes = topics.map(({ name: topic, partitions, cleanup }) => {
      return { topic, partitions, cleanup, records: records.get(topic)!.reduce((sum, count) => sum + count, 0) };
    });
    const progress = counted.flatMap(({ group, topic, next, lag }) =>
      next.map((offset, partition): Progress => ({ group, topic, partition, offset, lag: lag[partition]! })),
    );
    return { topics: withoutEmptyLetters(sizes), groups: progress.filter(({ topic, partition }) => records.get(topic)![partition]! > 0) };
  }

  async move(group: string, to: Start): Promise<Moved> {
    const topics = await this.log.rewind(group, to);
    const isCut = (name: string): boolean =>
      this.log.begins > 0 && this.topics.some((topic) => topic.name === name && topic.cleanup === 'delete');
    return { topics, cut: topics.filter(isCut) };
  }

  async #counted(topics: readonly AnyTopic[]): Promise<readonly Counted[]> {
    const each = (await this.names()).map(async (group) => {
      const positions = await this.log.positions(group);
      const read = topics.filter(({ name }) => positions.some(({ topic }) => topic === name));
      return read.map((topic) => {
        return { group, topic: topic.name, next: nextOffsets(positions, topic), lag: Array<number>(topic.partitions).fill(0) };
      });
    });
    return (await Promise.all(each)).flat();
  }
}

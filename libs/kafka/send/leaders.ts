import type { Asker } from '../asker.js';
import { partitionName, type TopicPartition } from '../topic-partition.js';
import { within } from '../trouble.js';

/** Which broker leads which partition, as far as it is known. */
export interface Leaders {
  /** The number of a broker; undefined while none leads the partition. */
  of(partition: TopicPartition): number | 'unknown' | undefined;
  /** Asks again; resolves soon, with or without an answer. */
  refresh(): Promise<void>;
}

/** How long an answer is taken for right; a wrong one only makes partitions share a line. */
const keptMs = 60_000;
const patienceMs = 15_000;
/** How long to wait for one broker, which may have frozen. */
const answerMs = 1_000;
/** Enough for a second broker to answer. */
const refreshMs = 2_500;

/** Which broker leads which partition, asked of the brokers. */
export class KafkaLeaders implements Leaders {
  /** The leading broker of each partition, by the name of the partition; undefined where no broker leads. */
  #leaders: ReadonlyMap<string, number | undefined> = new Map();
  #askedMs = -Infinity;
  #asking: Promise<void> | undefined;

  /** @param topics as Kafka calls them. */
  constructor(
    private readonly asker: Asker,
    private readonly topics: readonly string[],
  ) {}

  of(partition: TopicPartition): number | 'unknown' | undefined {
    if (performance.now() - this.#askedMs > keptMs) void this.#ask();
    const name = partitionName(partition);
    return this.#leaders.has(name) ? this.#leaders.get(name) : 'unknown';
  }

  async refresh(): Promise<void> {
    await within(refreshMs, this.#ask());
  }

  /** Never rejects. One question at a time. */
  #ask(): Promise<void> {
    this.#askedMs = performance.now();
    this.#asking ??= this.#askOnce()
      .catch(() => undefined)
      .finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #askOnce(): Promise<void> {
    const { topics } = await this.asker.ask((admin) => admin.fetchTopicMetadata({ topics: [...this.topics] }), patienceMs, answerMs);
    const leaders = new Map<string, number | undefined>();
    for (const { name: topic, partitions } of topics) {
      for (const { partitionId: partition, leader } of partitions)
        leaders.set(partitionName({ topic, partition }), leader < 0 ? undefined : leader);
    }
    this.#leaders = leaders;
  }
}

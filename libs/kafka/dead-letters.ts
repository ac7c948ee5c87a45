import { tombstone, type AnyTopic, type Position, type RecordLog, type Unreadable } from '#log';
import type { AvroCodec } from '#topics';
import type { Asker } from './asker.js';
import type { KafkaAddress } from './client.js';
import { deadLettersOf } from './names.js';
import { readTopic } from './read-topic.js';

/** What a group could not use, with its place, its reason and its group in the headers. */
export type DeadLetter = Omit<Unreadable, 'topic' | 'reason'>;

export interface Redriven {
  /** Records that were appended again to the topics that they came from. */
  readonly redriven: number;
  /** Records that do not say which of our topics they came from; they stay where they are. */
  readonly left: number;
}

interface DeadLettersOptions {
  readonly address: KafkaAddress;
  readonly topics: readonly AnyTopic[];
  readonly codec: Promise<AvroCodec>;
  readonly asker: Asker;
  readonly log: RecordLog;
}

/** The group that remembers how far dead letters have been redriven. */
const redriveGroup = 'redrive';

/** What the groups could not use. All of it rejects `log_unavailable`. */
export class DeadLetters {
  constructor(private readonly options: DeadLettersOptions) {}

  /** Dead letters of a topic, from an offset on, oldest first. */
  async list(topic: AnyTopic, from = 0, limit = 100): Promise<readonly DeadLetter[]> {
    const { address } = this.options;
    const letters = lettersOf(topic);
    const name = (address.prefix ?? '') + letters.name;
    return readTopic({ ...this.options, codec: await this.options.codec, name, topic: letters, from, limit });
  }

  /** Appends the dead letters of a topic again to where they came from, each once, those that were redriven before left out. */
  async redrive(topic: AnyTopic): Promise<Redriven> {
    const positions: Position[] = [];
    let [redriven, left] = [0, 0];
    const subscription = await this.options.log.consume({
      group: redriveGroup,
      topics: [lettersOf(topic)],
      handler: () => Promise.resolve(),
      unreadable: async (letter) => {
        const origin = this.options.topics.find(({ name }) => name === letter.headers['topic']);
        if (origin) await this.#append(origin, letter);
        if (origin) redriven++;
        else left++;
        positions[letter.partition] = { topic: letter.topic.name, partition: letter.partition, offset: letter.offset + 1 };
      },
      stopped: () => undefined,
    });
    try {
      await subscription.caughtUp();
      await subscription.commit(positions.filter(Boolean));
    } finally {
      await subscription.stop();
    }
    return { redriven, left };
  }

  /** A dead letter of no bytes was a tombstone. */
  #append(origin: AnyTopic, { key, bytes }: Unreadable): Promise<void> {
    const { log } = this.options;
    return bytes.length === 0 ? log.append([tombstone(origin, key)]) : log.park(origin.name, key, bytes, {});
  }
}

/** A topic that no codec knows: its records come as they are. */
function lettersOf(topic: AnyTopic): AnyTopic {
  return { ...topic, name: deadLettersOf(topic.name), cleanup: 'delete', partitions: 1 };
}

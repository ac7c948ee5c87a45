import { KnownLetters, letterId, mostKnownLetters, originOf, readLog, type AnyTopic, type Headers, type RecordLog } from '#log';
import type { Asker } from './asker.js';
import type { KafkaAddress } from './client.js';
import { extentsOf } from './offsets.js';

export interface ParkedLettersOptions {
  readonly address: KafkaAddress;
  readonly topics: readonly AnyTopic[];
  readonly asker: Asker;
}

/** Others park too, such as the member that had a partition before. To look for each letter would slow a flood of them down. */
const lookMs = 5_000;

interface Known {
  readonly letters: KnownLetters;
  /** Offset of the first letter that was not read. */
  next: number;
  lookedMs: number;
  looking: Promise<void> | undefined;
}

/** Which dead letters there are, read from their topics once something is to be parked. */
export class ParkedLetters {
  readonly #known = new Map<string, Known>();

  constructor(
    private readonly log: Pick<RecordLog, 'follow'>,
    private readonly options: ParkedLettersOptions,
  ) {}

  /** Whether a letter with these headers is among the newest of its topic. Rejects `log_unavailable`. */
  async has(topic: string, headers: Headers): Promise<boolean> {
    const id = letterId(headers);
    if (id === undefined) return false;
    const known = this.#of(topic);
    if (!known.letters.has(id) && performance.now() - known.lookedMs > lookMs) {
      known.looking ??= this.#look(topic, known).finally(() => (known.looking = undefined));
      await known.looking;
    }
    return known.letters.has(id);
  }

  add(topic: string, headers: Headers): void {
    this.#of(topic).letters.add(letterId(headers));
  }

  #of(topic: string): Known {
    let known = this.#known.get(topic);
    if (!known) this.#known.set(topic, (known = { letters: new KnownLetters(), next: 0, lookedMs: -Infinity, looking: undefined }));
    return known;
  }

  async #look(topic: string, known: Known): Promise<void> {
    const beganMs = performance.now();
    const { address, asker, topics } = this.options;
    const name = (address.prefix ?? '') + topic;
    const [extent] = (await extentsOf(asker, [name])).get(name)!;
    const { low, high } = extent!;
    const from = Math.max(low, known.next, high - mostKnownLetters);
    const origin = topics.find((it) => it.name === originOf(topic))!;
    await readLog(this.log, {
      topics: [{ ...origin, name: topic, cleanup: 'delete', partitions: 1 }],
      from: [{ topic, partition: 0, offset: from }],
      asBytes: true,
      take: (letters) => {
        for (const { headers } of letters) known.letters.add(letterId(headers));
      },
    });
    known.next = high;
    known.lookedMs = beganMs;
  }
}

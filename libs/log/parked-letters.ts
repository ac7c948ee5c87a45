import { oneAtATime } from '#model';
import { letterId, letterTopicOf, originOf } from './dead-letter.js';
import { readLog } from './read-log.js';
import type { RecordLog } from './record-log.js';
import type { AnyTopic, Headers } from './topic.js';

/** Ids of dead letters of one topic that are remembered, about 150 bytes each: of an older one the record may be parked again. */
export const maxKnownLetters = 100_000;

/** Offsets `from` up to and without `to`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface ParkedLettersOptions {
  readonly topics: readonly AnyTopic[];
  /** Where a letter with these headers may stand that this process has not parked itself. */
  readonly spanOf: (letters: string, headers: Headers) => Promise<Span> | Span;
  /** How long it may take, milliseconds, until a letter is seen that another process has parked. */
  readonly lookEveryMs: number;
}

/** What is known of the letters of one topic. */
interface Known {
  /** The newest ids, oldest first. */
  readonly ids: Set<string>;
  readonly inTurn: ReturnType<typeof oneAtATime>;
  /** What was read. */
  span: Span;
  lookedMs: number;
}

/** Which dead letters there are. The topics of dead letters are read once something is to be parked, and as far as the log says. */
export class ParkedLetters {
  readonly #known = new Map<string, Known>();

  constructor(
    private readonly log: Pick<RecordLog, 'follow'>,
    private readonly options: ParkedLettersOptions,
  ) {}

  /** Whether a letter with these headers is among the newest of its topic. Rejects as a reading of the log does. */
  async has(letters: string, headers: Headers): Promise<boolean> {
    const id = letterId(headers);
    if (id === undefined) return false;
    const known = this.#of(letters);
    if (!known.ids.has(id)) await known.inTurn(() => this.#look(letters, headers, known));
    return known.ids.has(id);
  }

  add(letters: string, headers: Headers): void {
    const { ids } = this.#of(letters);
    const id = letterId(headers);
    if (id === undefined) return;
    ids.add(id);
    if (ids.size > maxKnownLetters) for (const oldest of ids) return void ids.delete(oldest);
  }

  #of(letters: string): Known {
    let known = this.#known.get(letters);
    if (!known) {
      known = { ids: new Set(), inTurn: oneAtATime(), span: { from: Infinity, to: -Infinity }, lookedMs: -Infinity };
      this.#known.set(letters, known);
    }
    return known;
  }

  async #look(letters: string, headers: Headers, known: Known): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - known.lookedMs < this.options.lookEveryMs) return;
    const { from, to } = await this.options.spanOf(letters, headers);
    const first = from < known.span.from ? from : Math.max(from, known.span.to);
    if (first < to) await this.#read(letters, first);
    known.span = { from: Math.min(from, known.span.from), to: Math.max(to, known.span.to) };
    known.lookedMs = nowMs;
  }

  async #read(letters: string, offset: number): Promise<void> {
    const origin = this.options.topics.find(({ name }) => name === originOf(letters))!;
    // Earlier versions of the embedded log put letters into the partitions of the topic that they came from.
    const from = Array.from({ length: origin.partitions }, (_, partition) => ({ topic: letters, partition, offset }));
    const take = (records: readonly { readonly headers: Headers }[]): void => {
      for (const record of records) this.add(letters, record.headers);
    };
    await readLog(this.log, { topics: [letterTopicOf(origin)], from, asBytes: true, take });
  }
}

import { KnownLetters, letterId, type Headers } from '#log';
import { oneAtATime } from '#model';
import { unpack, type Chunk } from './chunk.js';
import type { ReadRequest } from './log-file.js';

interface Known {
  readonly letters: KnownLetters;
  /** The letters from this offset on are known. */
  from: number;
  readonly inTurn: ReturnType<typeof oneAtATime>;
}

/**
 * Which dead letters there are. This process parks all that come from now on; of those before it reads what stands behind the record that is to
 * be parked, for a letter is younger than its record.
 */
export class ParkedLetters {
  readonly #known = new Map<string, Known>();

  /** @param end offset of the first record that this process has appended. */
  constructor(
    private readonly read: (request: ReadRequest) => Promise<Chunk>,
    private readonly end: number,
  ) {}

  /** Whether a letter with these headers is among the newest of its topic. Rejects `log_corrupt`. */
  async has(topic: string, headers: Headers): Promise<boolean> {
    const id = letterId(headers);
    if (id === undefined) return false;
    const known = this.#of(topic);
    const from = Number(headers['offset']) + 1;
    if (from < known.from) await known.inTurn(() => this.#look(topic, known, from));
    return known.letters.has(id);
  }

  add(topic: string, headers: Headers): void {
    this.#of(topic).letters.add(letterId(headers));
  }

  #of(topic: string): Known {
    let known = this.#known.get(topic);
    if (!known) this.#known.set(topic, (known = { letters: new KnownLetters(), from: this.end, inTurn: oneAtATime() }));
    return known;
  }

  async #look(topic: string, known: Known, from: number): Promise<void> {
    for (let next = from; next < known.from;) {
      const chunk = await this.read({ from: next, kept: [topic], compacted: [] });
      for (const { offset, headers } of unpack(chunk)) if (offset < known.from) known.letters.add(letterId(headers));
      next = chunk.next;
    }
    known.from = Math.min(from, known.from);
  }
}

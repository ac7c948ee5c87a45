import { TokenBucket } from '#model';
import type { KafkaAddress } from '../client.js';
import { FetchLoop, type Fetched, type Wanted } from './fetch-loop.js';
import { laneRoom } from './lane.js';

/** A partition that has brought nothing for this long is quiet again. */
const busyForMs = 2_000;
/** CPU that fetches may cost in the long run, milliseconds a second. After a silence they may cost ten times as much at once. */
const maxCostMs = 500;

/** A partition that somebody reads, and who asks for it. */
interface Reading {
  loop: FetchLoop;
  /** When it last brought something, monotonic milliseconds. */
  heardMs: number;
  /** Whether an answer is being taken: another one that comes meanwhile has the same records. */
  isTaking: boolean;
}

interface FetcherOptions {
  /** Whether the fetcher is used for long; otherwise a second connection to each broker is not worth while. */
  readonly isLasting: boolean;
  /** The pause after a fetch that has brought something, for readers who can wait: asking for all partitions is what costs. */
  readonly restMs?: number;
}

/**
 * Fetches partitions over one or two connections to each broker that leads some of them. Readers who have come equally far in a partition share
 * what is fetched.
 *
 * What a fetch costs is the number of partitions that it names. So those that have brought something of late are asked for apart from the
 * quiet ones: a record of a busy partition is here as soon as it is there, however many others are followed. The loop that has a partition keeps
 * it until the other one asks for it too; the answer that comes second is dropped.
 */
export class Fetcher {
  readonly #readings = new Map<Wanted, Reading>();
  readonly #quiet: FetchLoop;
  readonly #busy: FetchLoop;
  readonly #loops: ReadonlySet<FetchLoop>;
  /** Whether a partition was passed over because too many of its bytes wait. */
  #isOneFull = false;

  constructor(address: KafkaAddress, { isLasting, restMs = 0 }: FetcherOptions) {
    const parts = {
      address,
      restMs,
      budget: new TokenBucket(maxCostMs, performance.now()),
      wanted: () => this.#readings.keys(),
      due: (loop: FetchLoop, isLed: (one: Wanted) => boolean) => this.#due(loop, isLed),
      take: (one: Wanted, from: number, fetched: Fetched) => this.#take(one, from, fetched),
    };
    this.#quiet = new FetchLoop(parts);
    this.#busy = isLasting ? new FetchLoop(parts) : this.#quiet;
    this.#loops = new Set([this.#quiet, this.#busy]);
  }

  add(wanted: Iterable<Wanted>): void {
    for (const one of wanted) this.#readings.set(one, { loop: this.#quiet, heardMs: -Infinity, isTaking: false });
    for (const loop of this.#loops) loop.learn();
  }

  remove(wanted: Iterable<Wanted>): void {
    for (const one of wanted) this.#readings.delete(one);
  }

  /** A reader has taken something. */
  taken(): void {
    if (!this.#isOneFull) return;
    this.#isOneFull = false;
    for (const loop of this.#loops) loop.look();
  }

  async stop(): Promise<void> {
    await Promise.all(Array.from(this.#loops, (loop) => loop.stop()));
  }

  /** What a loop asks for now: all that it should, and what the other one should and does not yet. */
  #due(loop: FetchLoop, isLed: (one: Wanted) => boolean): readonly Wanted[] {
    const waitingBytes = new Map<object | undefined, number>();
    for (const { reader, waitingBytes: bytes } of this.#readings.keys()) waitingBytes.set(reader, (waitingBytes.get(reader) ?? 0) + bytes);
    const nowMs = performance.now();
    const due: Wanted[] = [];
    for (const [one, reading] of this.#readings) {
      if (!isLed(one)) continue;
      if (one.waitingBytes >= laneRoom(waitingBytes.get(one.reader)!)) {
        this.#isOneFull = true;
        continue;
      }
      const wanted = nowMs - reading.heardMs < busyForMs ? this.#busy : this.#quiet;
      if (wanted === loop) reading.loop = loop;
      if (reading.loop === loop) due.push(one);
    }
    return due;
  }

  async #take(one: Wanted, from: number, fetched: Fetched): Promise<void> {
    const reading = this.#readings.get(one);
    if (!reading || reading.isTaking || one.next !== from) return;
    if (fetched.messages.length > 0) {
      reading.heardMs = performance.now();
      this.#busy.look();
    }
    reading.isTaking = true;
    try {
      await one.fetched(fetched);
    } finally {
      reading.isTaking = false;
    }
  }
}

import { setImmediate } from 'node:timers/promises';
import { isDeadLetters, type AnyTopic, type StreamRecord } from '#log';
import { TelemetryError } from '#model';
import { writeFrame, type Draft } from './frame.js';
import type { Group } from './log-file.js';
import type { LetterOffset } from './letters.js';
import { LogRecord } from './log-record.js';
import type { GroupPosition } from './positions.js';

/** A record on its way into the log. */
export interface Item {
  readonly draft: Draft;
  /** Undefined for bytes that are appended without a look inside. */
  readonly topic: AnyTopic | undefined;
  readonly compacted: boolean;
  readonly value: unknown;
}

const bytesOf = (items: readonly Item[]): number => items.reduce((sum, { draft }) => sum + draft.bytes, 0);

interface Call {
  readonly items: readonly Item[];
  readonly positions: readonly GroupPosition[];
  readonly bytes: number;
  resolve(): void;
  reject(error: Error): void;
}

/** A group that has been written. */
export interface Written {
  readonly end: number;
  /** In offset order; undefined when some of them are bytes that were appended without a look inside. */
  readonly records: readonly StreamRecord[] | undefined;
}

export interface AppenderOptions {
  /** Resolves when the group is durable, with the offset of its first record. */
  readonly commit: (group: Group) => Promise<number>;
  /** Called when a group is durable, before its calls resolve. */
  readonly written: (written: Written) => void;
  /** Positions that are worth writing with a group, though not by themselves. */
  readonly drift: () => readonly GroupPosition[];
}

export interface WriteFailure {
  readonly cause: unknown;
  /** By the monotonic clock. */
  readonly atMs: number;
}

const maxGroupBytes = 8 << 20;
const maxWaitingBytes = 64 << 20;

/**
 * Group commit: the calls of one turn of the event loop are written together, and so are the calls that come while a group is being written. A
 * lone record waits for nothing.
 */
export class Appender {
  #waiting: Call[] = [];
  #bytes = 0;
  #writing: Promise<void> | undefined;
  #closed: TelemetryError | undefined;
  #failure: WriteFailure | undefined;

  constructor(private readonly options: AppenderOptions) {}

  /** The last write, when it failed. */
  get failure(): WriteFailure | undefined {
    return this.#failure;
  }

  /** Resolves once everything is durable. Rejects `overloaded` when too much waits, and `log_unavailable`. */
  add(items: readonly Item[], positions: readonly GroupPosition[] = []): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closed);
    const bytes = bytesOf(items);
    if (this.#bytes > 0 && this.#bytes + bytes > maxWaitingBytes) {
      return Promise.reject(new TelemetryError('overloaded', 'The log has more to write than it can take.', { retryAfterS: 1 }));
    }
    this.#bytes += bytes;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ items, positions, bytes, resolve, reject });
      this.#writing ??= this.#writeAll();
    });
  }

  /** Takes no more calls; resolves when those that wait are written. */
  async close(error: TelemetryError): Promise<void> {
    this.#closed = error;
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    await setImmediate();
    while (this.#waiting.length > 0) {
      await this.#write(this.#nextCalls());
      // Callers that waited for this group may append more in this turn.
      await setImmediate();
    }
    this.#writing = undefined;
  }

  #nextCalls(): readonly Call[] {
    let [n, bytes] = [0, 0];
    while (n < this.#waiting.length && bytes < maxGroupBytes) bytes += this.#waiting[n++]!.bytes;
    const calls = this.#waiting.slice(0, n);
    this.#waiting = this.#waiting.slice(n);
    return calls;
  }

  async #write(calls: readonly Call[]): Promise<void> {
    const items = calls.flatMap((call) => call.items);
    const kept = items.filter((it) => !it.compacted);
    const ordered = [...kept, ...items.filter((it) => it.compacted)];
    try {
      const group: Group = {
        ms: Date.now(),
        frames: framesOf(ordered),
        kept: kept.length,
        keptBytes: bytesOf(kept),
        compacted: ordered.length - kept.length,
        letters: lettersIn(kept),
        positions: [...calls.flatMap((call) => call.positions), ...this.options.drift()],
      };
      const first = await this.options.commit(group);
      this.#failure = undefined;
      this.options.written({ end: first + ordered.length, records: records(ordered, first, group.ms) });
      for (const call of calls) call.resolve();
    } catch (cause) {
      this.#failure = { cause, atMs: performance.now() };
      for (const call of calls) call.reject(unavailable(cause as Error));
    } finally {
      for (const call of calls) this.#bytes -= call.bytes;
    }
  }
}

function framesOf(items: readonly Item[]): ArrayBuffer {
  const frames = new ArrayBuffer(bytesOf(items));
  const into = Buffer.from(frames);
  let at = 0;
  for (const { draft } of items) at = writeFrame(into, at, draft);
  return frames;
}

/** Dead letters are appended without a look inside. */
function lettersIn(items: readonly Item[]): LetterOffset[] {
  const letters: LetterOffset[] = [];
  for (let offset = 0; offset < items.length; offset++) {
    const { topic, draft } = items[offset]!;
    if (!topic && isDeadLetters(draft.frame.topic)) letters.push({ topic: draft.frame.topic, offset });
  }
  return letters;
}

function records(items: readonly Item[], first: number, ms: number): StreamRecord[] | undefined {
  if (items.some((it) => !it.topic)) return undefined;
  return items.map(({ topic, value, draft: { frame } }, n) => {
    const { partition, key, headers } = frame;
    return new LogRecord(topic!, partition, first + n, key, value, ms, headers, frame.value?.length ?? 0);
  });
}

/** For a caller every failure is the same: the log did not take the entries. */
function unavailable(cause: Error): TelemetryError {
  return new TelemetryError('log_unavailable', 'The log cannot be written now.', { cause, retryAfterS: 1 });
}

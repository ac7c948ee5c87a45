import { setImmediate } from 'node:timers/promises';
import type { AnyTopic, StreamRecord } from '#log';
import { TelemetryError } from '#model';
import { draft, writeFrame, type Draft, type Frame } from './frame.js';
import type { Group } from './log-file.js';
import { LogRecord } from './log-record.js';
import type { GroupPosition } from './positions.js';

/** A record on its way into the log. */
export interface Item {
  readonly draft: Draft;
  /** Undefined for bytes that nobody looked into. */
  readonly topic: AnyTopic | undefined;
  readonly compacted: boolean;
  readonly value: unknown;
}

/** A record to write. `keyBytes` is the size of its key. */
export function item(frame: Frame, keyBytes: number, topic: AnyTopic | undefined, compacted: boolean, value: unknown): Item {
  return { draft: draft(frame, keyBytes), topic, compacted, value };
}

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
  /** In offset order; undefined when some of them are bytes that nobody looked into. */
  readonly records: readonly StreamRecord[] | undefined;
}

export interface AppenderOptions {
  /** Resolves when the group is durable, with the offset of its first record. */
  readonly commit: (group: Group) => Promise<number>;
  /** Called when a group is durable, before its calls resolve. */
  readonly written: (written: Written) => void;
  /** Positions to write with a group that is due anyway. */
  readonly drift: () => readonly GroupPosition[];
}

const groupBytes = 8 << 20;
const waitingBytes = 64 << 20;

/**
 * Group commit: what comes in one turn of the event loop is a group, and while one is being written, what waits becomes the next. A lone
 * record waits for nobody.
 */
export class Appender {
  #waiting: Call[] = [];
  #bytes = 0;
  #writing: Promise<void> | undefined;
  #closed: TelemetryError | undefined;

  constructor(private readonly options: AppenderOptions) {}

  /** Resolves once everything is durable. Rejects `overloaded` when too much waits, and `log_unavailable`. */
  add(items: readonly Item[], positions: readonly GroupPosition[] = []): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closed);
    const bytes = items.reduce((sum, it) => sum + it.draft.bytes, 0);
    if (this.#bytes > 0 && this.#bytes + bytes > waitingBytes) {
      return Promise.reject(new TelemetryError('overloaded', 'The log has more to write than it can take.', { retryAfterS: 1 }));
    }
    this.#bytes += bytes;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ items, positions, bytes, resolve, reject });
      this.#writing ??= this.#writeAll();
    });
  }

  /** Takes nothing more and resolves when what waits is written. */
  async close(error: TelemetryError): Promise<void> {
    this.#closed = error;
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    await setImmediate();
    while (this.#waiting.length > 0) {
      await this.#write(this.#nextCalls());
      // Those who were waiting for this group may have more.
      await setImmediate();
    }
    this.#writing = undefined;
  }

  #nextCalls(): readonly Call[] {
    let [n, bytes] = [0, 0];
    while (n < this.#waiting.length && bytes < groupBytes) bytes += this.#waiting[n++]!.bytes;
    const calls = this.#waiting.slice(0, n);
    this.#waiting = this.#waiting.slice(n);
    return calls;
  }

  async #write(calls: readonly Call[]): Promise<void> {
    const items = calls.flatMap((call) => call.items);
    const ordered = [...items.filter((it) => !it.compacted), ...items.filter((it) => it.compacted)];
    try {
      const group = this.#group(ordered, calls);
      const first = await this.options.commit(group);
      this.options.written({ end: first + ordered.length, records: records(ordered, first, group.ms) });
      for (const call of calls) call.resolve();
    } catch (cause) {
      for (const call of calls) call.reject(unavailable(cause as Error));
    } finally {
      for (const call of calls) this.#bytes -= call.bytes;
    }
  }

  #group(ordered: readonly Item[], calls: readonly Call[]): Group {
    const kept = ordered.filter((it) => !it.compacted);
    const bytes = (of: readonly Item[]): number => of.reduce((sum, it) => sum + it.draft.bytes, 0);
    const frames = new ArrayBuffer(bytes(ordered));
    const into = Buffer.from(frames);
    let at = 0;
    for (const it of ordered) at = writeFrame(into, at, it.draft);
    return {
      ms: Date.now(),
      frames,
      kept: kept.length,
      keptBytes: bytes(kept),
      compacted: ordered.length - kept.length,
      positions: [...calls.flatMap((call) => call.positions), ...this.options.drift()],
    };
  }
}

function records(items: readonly Item[], first: number, ms: number): StreamRecord[] | undefined {
  if (items.some((it) => !it.topic)) return undefined;
  return items.map(({ topic, value, draft: { frame } }, n) => {
    const { partition, key, headers } = frame;
    return new LogRecord(topic!, partition, first + n, key, value, ms, headers, frame.value?.length ?? 0);
  });
}

/** Whatever went wrong, for the caller it is one thing: the log did not take the entries. */
function unavailable(cause: Error): TelemetryError {
  return new TelemetryError('log_unavailable', 'The log cannot be written now.', { cause, retryAfterS: 1 });
}

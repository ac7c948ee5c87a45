import { closeCodes, type CloseCode } from '#edge';
import type { Caller } from '#model';
import type { StreamPlace } from './cursor.js';
import type { Batch, Frame } from './frames.js';
import type { Outlet } from './outlet.js';
import type { Filter, StreamKind } from './stream-kind.js';

/** With more unsent than that, a reader of metrics without cursors gets only the newest value of each metric. */
const mergingBytes = 64 * 1024;
/** Unsent bytes that close a reader after 10 s, and those that close it at once. */
export const slowBytes = 1024 * 1024;
const maxUnsentBytes = 16 * 1024 * 1024;
const patienceMs = 10_000;
/** Length of the newest values that wait for a slow reader. */
const maxWaitingLength = 4 * 1024 * 1024;
/** Frames that are written at once. */
const framesAtOnce = 32;

/** One reader of a stream: sends what it wants, as fast as it takes that. */
export class StreamReader {
  /** What stands before it, the reader has; undefined for a reader without cursors, which goes on with whatever comes next. */
  place: StreamPlace | undefined;
  /** When that was appended, Unix milliseconds; undefined where nobody knows. */
  timeMs: number | undefined;
  #isClosed = false;
  /** The newest value of each metric, as JSON, for a reader that is slow. */
  readonly #waiting = new Map<string, string>();
  #waitingLength = 0;
  #slowSinceMs: number | undefined;
  /** Part of a batch is sent, and part of it is not. */
  isAmidst = false;

  /** @param holds is told how many bytes the reader holds more than before. */
  constructor(
    readonly kind: StreamKind,
    readonly key: string,
    readonly filter: Filter,
    readonly caller: Caller,
    readonly outlet: Outlet,
    private readonly holds: (bytes: number) => void = () => undefined,
  ) {}

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** What it has not taken yet: bytes that were sent, and about as many as the newest values that wait. */
  get heldBytes(): number {
    return this.outlet.unsentBytes + this.#waitingLength;
  }

  /** Whether newest values wait until the reader has taken what was sent. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Sends what it wants of a batch, in steps. */
  *deliver(batch: Batch): Generator<void> {
    if (this.#isClosed) return;
    const rest = this.place ? batch.behind(this.place) : batch;
    if (!rest) return;
    if (this.#isMerging) {
      this.#wait(rest.newest(this.filter));
      this.catchUp();
    } else yield* this.#send(rest.frames(this.filter));
    if (!this.place) return;
    this.place = rest.end;
    this.timeMs = rest.timeMs;
  }

  /** Sends the newest values that wait, where the reader has taken enough. */
  catchUp(): void {
    if (this.#isClosed || !this.isWaiting || this.outlet.unsentBytes > mergingBytes) return;
    this.outlet.message(`${this.kind.message([...this.#waiting.values()].join(','))}}`);
    this.#waiting.clear();
    this.#waitingLength = 0;
  }

  /** Closes a reader that has been too slow for too long. @param nowMs monotonic. */
  look(nowMs: number): void {
    if (this.outlet.unsentBytes <= slowBytes) this.#slowSinceMs = undefined;
    else if (nowMs - (this.#slowSinceMs ??= nowMs) >= patienceMs) this.tooSlow();
  }

  /** Nobody reads any more. */
  end(): void {
    this.#isClosed = true;
    this.#waiting.clear();
    this.#waitingLength = 0;
  }

  tooSlow(): void {
    this.close(closeCodes.tryLater, 'This reader is too slow: read faster, or ask for fewer metrics.');
  }

  close(code: CloseCode, reason: string): void {
    if (this.#isClosed) return;
    this.end();
    this.outlet.close(code, reason);
  }

  get #isMerging(): boolean {
    return this.kind.isMerged && !this.place && (this.isWaiting || this.outlet.unsentBytes > mergingBytes);
  }

  *#send(frames: readonly Frame[]): Generator<void> {
    this.isAmidst = true;
    for (let at = 0; at < frames.length && !this.#isClosed; at += framesAtOnce) {
      if (at > 0) yield;
      const { unsentBytes } = this.outlet;
      this.outlet.frames(frames.length > framesAtOnce ? frames.slice(at, at + framesAtOnce) : frames);
      this.holds(this.outlet.unsentBytes - unsentBytes);
      if (this.outlet.unsentBytes > maxUnsentBytes) this.tooSlow();
    }
    this.isAmidst = false;
  }

  #wait(newest: ReadonlyMap<string, string>): void {
    const before = this.#waitingLength;
    for (const [metric, json] of newest) {
      this.#waitingLength += json.length - (this.#waiting.get(metric)?.length ?? 0);
      this.#waiting.set(metric, json);
    }
    this.holds(this.#waitingLength - before);
    if (this.#waitingLength > maxWaitingLength) this.tooSlow();
  }
}

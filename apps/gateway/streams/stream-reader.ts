import { closeCodes, type CloseCode } from '#edge';
import type { Caller } from '#model';
import type { StreamPlace } from './cursor.js';
import type { Batch } from './frames.js';
import type { Outlet } from './outlet.js';
import type { Filter, StreamKind } from './stream-kind.js';

/** With more unsent than that, a reader of metrics without cursors gets only the newest value of each metric. */
const mergingBytes = 64 * 1024;
/** What may be unsent for `patienceMs`, and what may be unsent at all: more than one body makes. */
export const slowBytes = 1024 * 1024;
const maxUnsentBytes = 16 * 1024 * 1024;
const patienceMs = 10_000;
/** Length of the newest values that wait for a slow reader. */
const maxWaitingLength = 4 * 1024 * 1024;

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

  constructor(
    readonly kind: StreamKind,
    readonly key: string,
    readonly filter: Filter,
    readonly caller: Caller,
    readonly outlet: Outlet,
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

  deliver(batch: Batch): void {
    if (this.#isClosed) return;
    if (!this.place) return this.#deliver(batch);
    const rest = batch.behind(this.place);
    if (!rest) return;
    for (const frame of rest.frames(this.filter)) this.outlet.frame(frame);
    this.place = rest.end;
    this.timeMs = rest.timeMs;
    this.#limit();
  }

  /** Sends the newest values that wait, where the reader has taken enough. */
  catchUp(): void {
    if (this.#isClosed || !this.isWaiting || this.outlet.unsentBytes > mergingBytes) return;
    this.outlet.message(`${this.kind.message([...this.#waiting.values()])}}`);
    this.#waiting.clear();
    this.#waitingLength = 0;
  }

  /** Closes a reader that has been too slow for too long. @param nowMs monotonic. */
  look(nowMs: number): void {
    if (this.outlet.unsentBytes <= slowBytes) this.#slowSinceMs = undefined;
    else if (nowMs - (this.#slowSinceMs ??= nowMs) >= patienceMs) this.tooSlow();
  }

  tooSlow(): void {
    this.close(closeCodes.tryLater, 'This reader is too slow: read faster, or ask for fewer metrics.');
  }

  close(code: CloseCode, reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#waiting.clear();
    this.#waitingLength = 0;
    this.outlet.close(code, reason);
  }

  #deliver(batch: Batch): void {
    if (this.kind.isMerged && (this.isWaiting || this.outlet.unsentBytes > mergingBytes)) {
      this.#wait(batch.newest(this.filter));
      this.catchUp();
    } else {
      for (const frame of batch.frames(this.filter)) this.outlet.frame(frame);
      this.#limit();
    }
  }

  #wait(newest: ReadonlyMap<string, string>): void {
    for (const [metric, json] of newest) {
      this.#waitingLength += json.length - (this.#waiting.get(metric)?.length ?? 0);
      this.#waiting.set(metric, json);
    }
    if (this.#waitingLength > maxWaitingLength) this.tooSlow();
  }

  #limit(): void {
    if (this.outlet.unsentBytes > maxUnsentBytes) this.tooSlow();
  }
}

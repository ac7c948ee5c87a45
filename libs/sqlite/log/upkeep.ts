import { causes, oneAtATime } from '#model';
import type { WorkerThread } from '../worker.js';
import type { Change } from './log-state.js';
import { nextBeginning, type TrimmableLog, type Retention } from './retention.js';
import type { Aged } from './segments.js';

/** How often the log is searched for records that are old enough to go. It also is whenever a journal begins. */
const lookMs = 60_000;

/** The log whose files are kept in order. */
interface Kept extends TrimmableLog {
  /** Begins the next journal, if the oldest record of this one is old enough. */
  endOldJournal(nowMs: number): Promise<void>;
  change(change: Change): Promise<void>;
  /** Whether somebody who has begun to read has yet to read records before an offset. */
  isRead(before: number): boolean;
}

/** What the log's thread is asked to do. */
export interface Tidying {
  readonly nowMs: number;
  /** The newest values of the compacted topics must reach so far. */
  readonly newestTo: number;
}

/** Seals the files of a log, and drops them once they are old and nobody needs them. It does one thing at a time. */
export class Upkeep {
  readonly #inTurn = oneAtATime();
  readonly #timer: NodeJS.Timeout | undefined;
  #isOver = false;
  #failure: Error | undefined;

  /** @param retention undefined when all records are kept. */
  constructor(
    private readonly log: Kept,
    private readonly thread: WorkerThread,
    private readonly clock: () => number,
    private readonly retention: Retention | undefined,
  ) {
    if (retention) this.#timer = setInterval(() => void this.tidy(), lookMs).unref();
  }

  /** Why the files could not be tidied, as a sentence for the operator; undefined when that went well. Nothing is lost meanwhile. */
  get failure(): string | undefined {
    return this.#failure && `The log takes more space than it needs: ${causes(this.#failure)}.`;
  }

  /** @param begun resolves when the thread knows of the newest journal. */
  tidy(begun?: Promise<void>): Promise<void> {
    // It may reject before its turn comes.
    begun?.catch(() => undefined);
    return this.#inTurn(async () => {
      try {
        await begun;
        if (this.retention) await this.log.endOldJournal(this.clock());
        await this.#seal();
        if (this.retention) await this.#drop(this.retention);
        this.#failure = undefined;
      } catch (cause) {
        this.#failure = cause as Error;
      }
    });
  }

  /** Begins nothing new. */
  stop(): void {
    this.#isOver = true;
    clearInterval(this.#timer);
  }

  async #seal(newestTo = 0): Promise<void> {
    while (!this.#isOver && (await this.thread.call<boolean>('tidy', { nowMs: this.clock(), newestTo } satisfies Tidying)));
  }

  /** A crash after any of these steps leaves a log that is whole, or one whose next start removes the rest. */
  async #drop(retention: Retention): Promise<void> {
    const nowMs = this.clock();
    const aged = await this.thread.call<readonly Aged[]>('aged', nowMs - retention.keepMs);
    const begins = await nextBeginning(this.log, retention, aged, nowMs);
    if (begins > this.log.begins) {
      await this.#seal(begins);
      if (this.#isOver) return;
      retention.beforeDrop();
      await this.log.change({ begins });
    }
    // Who begins to read from now on is told where the log begins. Others are waited for: the next look tries again.
    if (!this.log.isRead(this.log.begins)) await this.thread.call('drop', this.log.begins);
  }
}

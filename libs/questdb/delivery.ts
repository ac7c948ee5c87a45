import { during, Histogram, type Lease, TelemetryError } from '#model';

const firstPauseMs = 100;
const maxPauseMs = 3000;
/** How long a caller waits for a store that fails before it is told. */
const patienceMs = 5000;

/** Where lines go. Bodies of one sink are sent one after the other. */
export interface LineSink {
  /**
   * Sends the pieces of a body as one transaction. Resolves when it is accepted: durable, and visible soon. Rejects `NotAccepted` once this attempt can
   * have no effect any more. The lease is asked in the tick in which sending begins; once it is lost, the attempt goes on as long as
   * the lease allows and is cut off then.
   */
  send(body: readonly Uint8Array[], lease: Lease): Promise<void>;
}

/** A body that was not acknowledged: worth another attempt, unless it is `Refused`. */
export class NotAccepted extends Error {
  override readonly name = 'NotAccepted';

  /** @param outcome `none` when nothing of it is stored, `unknown` when all of it may be. */
  constructor(
    readonly outcome: 'none' | 'unknown',
    why: string,
    options?: ErrorOptions,
  ) {
    super(why, options);
  }
}

/** A body that QuestDB will never take, because of one of its rows. Nothing of it is stored. */
export class Refused extends NotAccepted {
  /** @param row of the body, counted from 0; undefined when it is not told. */
  constructor(
    readonly row: number | undefined,
    why: string,
    options?: ErrorOptions,
  ) {
    super('none', why, options);
  }
}

/** A row that QuestDB will never take. */
export class RefusedRow extends Error {
  override readonly name = 'RefusedRow';

  /** @param symbols the row's own, as `symbolsText` writes them. */
  constructor(
    readonly symbols: string,
    cause: Error,
  ) {
    super(cause.message, { cause });
  }
}

/** What writing has done since the start. */
export class Figures {
  /** Rows that the store has accepted, by what they are. */
  readonly rows = { points: 0, late_points: 0, rollups: 0, events: 0 };
  /** What came when its time was no longer kept. */
  readonly late = { points: 0, events: 0 };
  /** Attempts that failed. */
  failures = 0;
  /** Windows that have points and for which the store answered nothing. */
  unanswered = 0;
  /** Seconds from the acceptance of rows until readers saw them. */
  readonly applied = new Histogram([0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30]);
}

/** Whether a write path fails, since when, and why. */
export class Outage {
  #sinceMs: number | undefined;
  #cause: unknown;

  began(cause: unknown): void {
    this.#sinceMs ??= performance.now();
    this.#cause = cause;
  }

  over(): void {
    this.#sinceMs = undefined;
  }

  /** In words for the operator; undefined while writing works. */
  get reason(): string | undefined {
    if (this.#sinceMs === undefined) return undefined;
    return this.#cause instanceof Error ? this.#cause.message : String(this.#cause);
  }

  /** @throws TelemetryError `store_unavailable` once it has lasted for `patienceMs`. */
  check(): void {
    if (this.#sinceMs === undefined || performance.now() - this.#sinceMs < patienceMs) return;
    throw new TelemetryError('store_unavailable', 'The store takes no rows.', { cause: this.#cause, retryAfterS: 5 });
  }
}

/** Wakes everyone who waits for a change. */
export class Signal {
  readonly #waiting = new Set<() => void>();

  ring(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Resolves at the next ring, or after `timeoutMs`. */
  wait(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, timeoutMs);
      this.#waiting.add(wake);
    });
  }
}

/** Visibility, outage and counts of one write path. */
export interface WritePath {
  readonly visibility: Visibility;
  /** Of this path alone: another one may work meanwhile. */
  readonly outage: Outage;
  readonly figures: Figures;
  /** The tables that the rows are for. */
  readonly tables: readonly string[];
}

/** A write path for rows that are sent as lines. */
export interface LinePath extends WritePath {
  readonly sink: LineSink;
}

/** Resolves `of` when readers see what the tables had accepted at the call; `check` throws when nobody waits any more. */
interface Visibility {
  of(tables: readonly string[], check: () => void): Promise<void>;
}

/** Sends rows in order, each body again until it is accepted, as long as a lease is held. */
export class Delivery {
  /** Something that was sent before may still come: from an attempt with an unknown outcome, or from an earlier lease. */
  #uncertain = true;
  readonly #ending = new Signal();
  #ended: { readonly cause: unknown } | undefined;

  /** @param changed rung when somebody who waits should look again. */
  constructor(
    private readonly path: WritePath,
    readonly lease: Lease,
    private readonly changed: Signal,
  ) {}

  /** Whether nothing is sent any more. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /** Sends nothing any more. @param cause what went wrong, if that is why. */
  end(cause?: unknown): void {
    this.#ended ??= { cause };
    this.#ending.ring();
    this.changed.ring();
  }

  /** @throws TelemetryError `store_unavailable` when what is held here is to be dropped. */
  check(): void {
    if (this.#ended) throw new TelemetryError('store_unavailable', 'The writer has ended.', this.#ended);
    if (!this.lease.held()) throw new TelemetryError('store_unavailable', 'These records have gone to another member of the group.');
  }

  /** Resolves when the sink has accepted the body. Rejects `Refused`, once its rows are to be dropped, and when `giveUp` throws. */
  send(sink: LineSink, body: readonly Uint8Array[], giveUp?: () => void): Promise<void> {
    return this.untilItWorks(() => sink.send(body, this.lease), giveUp);
  }

  /** Resolves when readers see all that was accepted. Rejects as `send` does. */
  visible(giveUp?: () => void): Promise<void> {
    return this.untilItWorks(() => this.shows(this.path.tables), giveUp);
  }

  /** Resolves when readers see all that these tables have accepted. Rejects as `send` does, and when that cannot be told. */
  shows(tables: readonly string[]): Promise<void> {
    return this.path.visibility.of(tables, () => this.check());
  }

  /** Tries again until it works, each time under the lease. Rejects as `send` does. */
  async untilItWorks(attempt: () => Promise<void>, giveUp: () => void = () => undefined): Promise<void> {
    const { outage, figures } = this.path;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      this.check();
      try {
        if (this.#uncertain) await this.shows(this.path.tables);
        this.#uncertain = false;
        this.check();
        await during(this.lease, attempt);
        outage.over();
        return;
      } catch (cause) {
        this.check();
        figures.failures++;
        if (cause instanceof Refused) throw cause;
        outage.began(cause);
        this.#uncertain ||= cause instanceof NotAccepted && cause.outcome === 'unknown';
        giveUp();
      }
      await this.#ending.wait(pauseMs);
    }
  }
}

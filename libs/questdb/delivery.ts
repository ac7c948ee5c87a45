import { type Lease, TelemetryError } from '#model';
import { NotAccepted, Refused, type LineSink } from './line-sink.js';
import type { Figures } from './figures.js';
import type { Outage } from './outage.js';
import { Signal } from './signal.js';
import type { Visibility } from './visibility.js';

const firstPauseMs = 100;
const longestPauseMs = 3000;

/** The parts that bring rows into tables. */
export interface Way {
  readonly sink: LineSink;
  readonly visibility: Visibility;
  /** Of this way alone: that others work says nothing. */
  readonly outage: Outage;
  readonly figures: Figures;
  /** The tables that the rows are for. */
  readonly tables: readonly string[];
}

/** Sends rows in order, each body again until it is accepted, as long as a lease is held. */
export class Delivery {
  /** Something that was sent before may still come: from an attempt with an unknown outcome, or from an earlier lease. */
  #uncertain = true;
  readonly #ending = new Signal();
  #ended: { readonly cause: unknown } | undefined;

  /** @param changed rung when somebody who waits should look again. */
  constructor(
    private readonly way: Way,
    private readonly lease: Lease,
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

  /** Resolves when the body is accepted. Rejects `Refused`, once its rows are to be dropped, and when `giveUp` throws. */
  send(body: Uint8Array, giveUp?: () => void): Promise<void> {
    return this.untilItWorks(() => this.way.sink.send(body, this.lease), giveUp);
  }

  /** Resolves when readers see all that was accepted. Rejects as `send` does. */
  visible(giveUp?: () => void): Promise<void> {
    return this.untilItWorks(() => this.shows(this.way.tables), giveUp);
  }

  /** Resolves when readers see all that these tables have accepted. Rejects as `send` does, and when that cannot be told. */
  shows(tables: readonly string[]): Promise<void> {
    return this.way.visibility.of(tables, () => this.check());
  }

  /** Tries again until it works. Rejects as `send` does. */
  async untilItWorks(attempt: () => Promise<void>, giveUp: () => void = () => undefined): Promise<void> {
    const { outage, figures } = this.way;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      this.check();
      try {
        if (this.#uncertain) await this.shows(this.way.tables);
        this.#uncertain = false;
        this.check();
        await attempt();
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

import { Inject, Injectable } from '@nestjs/common';
import { inTime } from '#log';
import { FairQueue, intervalMs, keepNames, shownFrom, TelemetryError, type Interval, type Window } from '#model';
import { GENERATIONS, type Generations, shownStores, type ShownStores } from '#stores';
import { CLOCK, type Clock } from '../clock.js';
import { Organizations } from '../organizations.js';

/** How long a question to the stores may take, with the time that it waits for its turn. */
const patienceMs = 10_000;

const tooLate = (): TelemetryError => new TelemetryError('store_unavailable', 'Ask again in a moment, or for less at once.');

interface Waiting {
  isLate: boolean;
  readonly go: () => void;
}

/**
 * The way of all reads to the stores: as many at once as the stores answer. The organizations take turns, and within an organization the weights
 * of questions do, so that many heavy questions delay a light one by a few of them. No answer goes further back than its organization is shown.
 */
@Injectable()
export class Questions {
  /** By organization: the queue of its weights, once for each of its questions that waits. */
  readonly #turns = new FairQueue<FairQueue<Waiting>>();
  readonly #weights = new Map<string, FairQueue<Waiting>>();
  #asked = 0;

  constructor(
    @Inject(GENERATIONS) private readonly generations: Generations,
    @Inject(Organizations) private readonly organizations: Pick<Organizations, 'limits'>,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * What the stores that are live answer. Rejects `store_unavailable` after 10 s, and as the question does.
   *
   * @param rows how many rows the stores may have to read for it, about.
   */
  async ask<T>(orgId: string, rows: number, question: (stores: ShownStores) => Promise<T>): Promise<T> {
    const endMs = performance.now() + patienceMs;
    // Nobody waits while the stores have time, and most questions come then.
    if (this.#asked < this.generations.readsAtOnce) this.#asked++;
    else await this.#turn(orgId, weightOf(rows));
    return inTime(this.#answer(orgId, question), endMs - performance.now(), tooLate);
  }

  /** The next one is asked when the stores are done, not when the client has lost patience. */
  async #answer<T>(orgId: string, question: (stores: ShownStores) => Promise<T>): Promise<T> {
    try {
      return await question(this.#shownTo(orgId));
    } finally {
      this.#asked--;
      this.#next();
    }
  }

  #shownTo(orgId: string): ShownStores {
    const stores = this.generations.live();
    const limits = this.organizations.limits(orgId);
    return keepNames.some((name) => limits[name]) ? shownStores(stores, shownFrom(limits, this.clock())) : stores;
  }

  #turn(orgId: string, weight: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting: Waiting = { isLate: false, go: resolve };
    let weights = this.#weights.get(orgId);
    if (!weights) this.#weights.set(orgId, (weights = new FairQueue()));
    weights.add(weight, waiting);
    this.#turns.add(orgId, weights);
    return inTime(promise, patienceMs, () => {
      waiting.isLate = true;
      return tooLate();
    });
  }

  #next(): void {
    while (this.#asked < this.generations.readsAtOnce) {
      const weights = this.#turns.take();
      if (!weights) return this.#weights.clear();
      const { isLate, go } = weights.take()!;
      if (isLate) continue;
      this.#asked++;
      go();
    }
  }
}

/** Where nobody counts them: enough to tell light questions from heavy ones. */
export const seriesOfSource = 100;
export const sourcesOfFleet = 10_000;

/** Rows of one series in a window, when it has one a second or one a bucket. */
export function rowsIn({ startMs, endMs }: Window, interval: Interval): number {
  return (endMs - startMs) / (interval === 'raw' ? 1000 : intervalMs[interval]);
}

/** The name of a class of questions: the rows that two questions of one class read differ by less than a factor of ten. */
const weightOf = (rows: number): string => `${Math.floor(Math.log10(Math.max(1, rows)))}`;

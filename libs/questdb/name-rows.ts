import type { Client } from './client.js';
import type { Delivery } from './delivery.js';
import { Refused } from './line-sink.js';
import { symbolsText } from './lines.js';
import { RefusedRow } from './refused-row.js';
import type { Series } from './series-names.js';

const mostRows = 10_000;

/** What a row of a name says. */
export type SeriesName = Pick<Series, 'org' | 'source' | 'metric'>;

/** Names of metrics on their way to their table: each series once under a lease. They are there before its points are. */
export class NameRows {
  #waiting: Series[] = [];

  constructor(
    private readonly client: Client,
    private readonly table: string,
  ) {}

  add(series: Series): void {
    this.#waiting.push(series);
  }

  /** Sends names by themselves, without adding them. Rejects as `write` does. */
  async probe(names: readonly SeriesName[], delivery: Delivery, giveUp: () => void): Promise<void> {
    await this.#deliver(names, delivery, giveUp);
  }

  /** Resolves when readers see them. Rejects `RefusedRow`, and as a delivery does. */
  async write(delivery: Delivery): Promise<void> {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    for (let from = 0; from < waiting.length; from += mostRows) {
      await this.#deliver(waiting.slice(from, from + mostRows), delivery);
    }
    await delivery.untilItWorks(() => delivery.shows([this.table]));
  }

  /** A name that is refused is found by halves: QuestDB's client does not tell which row it was. */
  async #deliver(some: readonly SeriesName[], delivery: Delivery, giveUp?: () => void): Promise<void> {
    try {
      await delivery.untilItWorks(() => this.#send(some, delivery), giveUp);
    } catch (cause) {
      if (!(cause instanceof Refused)) throw cause;
      const [{ org, source, metric }] = some as [SeriesName];
      if (some.length === 1) throw new RefusedRow(symbolsText({ org, source, metric }), cause);
      const middle = Math.ceil(some.length / 2);
      await this.#deliver(some.slice(0, middle), delivery, giveUp);
      await this.#deliver(some.slice(middle), delivery, giveUp);
    }
  }

  #send(some: readonly SeriesName[], delivery: Delivery): Promise<void> {
    return this.client.send(
      async (sender) => {
        for (const { org, source, metric } of some) {
          await sender.table(this.table).symbol('org', org).symbol('source', source).symbol('metric', metric).at(0, 'ms');
        }
      },
      () => delivery.check(),
    );
  }
}

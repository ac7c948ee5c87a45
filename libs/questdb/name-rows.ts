import type { Client } from './client.js';
import type { Delivery } from './delivery.js';
import type { Series } from './series-names.js';

const mostRows = 10_000;

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

  /** Resolves when readers see them. */
  async write(delivery: Delivery): Promise<void> {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    for (let from = 0; from < waiting.length; from += mostRows) {
      await delivery.untilItWorks(() => this.#send(waiting.slice(from, from + mostRows), delivery));
    }
    await delivery.untilItWorks(() => delivery.shows([this.table]));
  }

  #send(some: readonly Series[], delivery: Delivery): Promise<void> {
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

import { type Delivery, type LineSink, Refused, RefusedRow } from './delivery.js';
import { Lines } from './lines.js';
import { type Series, symbolsText } from './series-names.js';

/** Rows of one body. */
const maxRows = 10_000;

/** The series whose metric a row names. */
export type SeriesName = Pick<Series, 'org' | 'source' | 'metric'>;

/** Writes the names of metrics, each series once under a lease, before any point of the series. */
export class NameRows {
  #waiting: Series[] = [];

  constructor(
    private readonly sink: LineSink,
    private readonly table: string,
  ) {}

  add(series: Series): void {
    this.#waiting.push(series);
  }

  /** Sends names by themselves, without adding them. Rejects as `write` does, and when `giveUp` throws. */
  async probe(names: readonly SeriesName[], delivery: Delivery, giveUp?: () => void): Promise<void> {
    const table = Buffer.from(this.table);
    const lines = new Lines(1 << 12);
    const symbols = names.map(({ org, source, metric }) => symbolsText({ org, source, metric }));
    for (const its of symbols) lines.row(table, Buffer.from(its), '', 0);
    try {
      await delivery.send(this.sink, lines.bytes, giveUp);
    } catch (cause) {
      throw cause instanceof Refused ? new RefusedRow(symbols[cause.row]!, cause) : cause;
    }
  }

  /** Resolves when readers see them. Rejects `RefusedRow`, and as a delivery does. */
  async write(delivery: Delivery): Promise<void> {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    for (let from = 0; from < waiting.length; from += maxRows) await this.probe(waiting.slice(from, from + maxRows), delivery);
    await delivery.untilItWorks(() => delivery.shows([this.table]));
  }
}

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { checkRow } from '../checksum.js';
import { missing, numbersIn, type OpenedNames } from './directory-rows.js';

/** Sources that are looked at before the time is. */
const sourcesAtOnce = 256;

interface SourceRow {
  readonly id: number;
  readonly org: string;
  readonly name: string;
  readonly series: Uint8Array;
  readonly crc: number;
}

/**
 * Looks at the names of all sources once after the start, in slices. Nothing is made before it is done: a source whose row is damaged or lost would
 * come anew, and a series that is missing in the count would have its number given to another one.
 */
export class NameCheck {
  readonly #sources: StatementSync;
  #last = 0;

  /** @param note is told of the metric and the number of each series in turn. */
  constructor(
    db: DatabaseSync,
    private readonly names: Pick<OpenedNames, 'metrics' | 'lastSeries'>,
    private readonly note: (pairs: Uint32Array) => void,
  ) {
    this.#sources = db.prepare('SELECT id, org, name, series, crc FROM source WHERE id > ? ORDER BY id LIMIT ?');
  }

  /**
   * Looks for about that long; true when there is more.
   * @throws TelemetryError `store_corrupt` when a row is damaged or missing.
   */
  step(sliceMs: number): boolean {
    const endMs = performance.now() + sliceMs;
    for (;;) {
      const some = this.#sources.all(this.#last, sourcesAtOnce) as unknown as SourceRow[];
      for (const row of some) this.#check(row);
      this.#last = some.at(-1)?.id ?? this.#last;
      if (some.length < sourcesAtOnce) return false;
      if (performance.now() >= endMs) return true;
    }
  }

  #check({ id, org, name, series, crc }: SourceRow): void {
    checkRow(`source ${id}`, crc, id, org, name, series);
    const pairs = numbersIn(series);
    for (let at = 0; at < pairs.length; at += 2) {
      if (pairs[at]! > this.names.metrics.length) throw missing(`metric ${pairs[at]}`);
      // Each number belongs to a series that there is or that has ended, so a source that is missing leaves numbers out.
      if (pairs[at + 1]! > this.names.lastSeries) throw missing('a source');
    }
    this.note(pairs);
  }
}

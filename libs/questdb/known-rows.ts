import type { Level } from './levels.js';
import { seriesKey } from './series-names.js';
import type { Sql } from './sql.js';
import type { Tables } from './tables.js';

const mostWindows = 64;

/** Which series have a row in the store, for the windows of one level that are being folded: one question a window, for all series. */
export class KnownRows {
  readonly #windows = new Map<number, { readonly keys: Set<string>; loaded: boolean }>();

  constructor(
    private readonly sql: Sql,
    private readonly tables: Tables,
    private readonly level: Level,
  ) {}

  /** Resolves when `mayHave` knows about this window, if it can be known. */
  async load(startMs: number): Promise<void> {
    if (this.#windows.has(startMs)) return;
    const window = { keys: new Set<string>(), loaded: false };
    this.#windows.set(startMs, window);
    const [oldest] = this.#windows.keys();
    if (this.#windows.size > mostWindows) this.#windows.delete(oldest!);
    try {
      const rows = await this.sql.rows(`SELECT org, source, metric FROM ${this.tables[this.level.table]} WHERE ts = $1`, [`${startMs}000`]);
      for (const [org, source, metric] of rows as string[][]) window.keys.add(seriesKey(org!, source!, metric!));
      window.loaded = true;
    } catch {
      this.#windows.delete(startMs);
    }
  }

  /** True also when it is not known. */
  mayHave(startMs: number, key: string): boolean {
    const window = this.#windows.get(startMs);
    return !window?.loaded || window.keys.has(key);
  }

  /** A row that is written and was perhaps not there when it was asked for. */
  add(startMs: number, key: string): void {
    this.#windows.get(startMs)?.keys.add(key);
  }
}

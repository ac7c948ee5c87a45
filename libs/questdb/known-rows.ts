import type { Level } from './levels.js';
import { seriesKey } from './series-names.js';
import type { Sql } from './sql.js';
import type { Tables } from './tables.js';

/** The first question about a day may read a row of every series there is. */
const patienceMs = 60_000;
const askAgainMs = 30_000;

interface KnownWindow {
  readonly keys: Set<string>;
  loaded: boolean;
  /** When it is to be asked for. */
  dueMs: number;
}

/** Which series have a row in the store, for the windows of one level that are being folded: one question a window, for all series. */
export class KnownRows {
  readonly #windows = new Map<number, KnownWindow>();

  constructor(
    private readonly sql: Pick<Sql, 'rows'>,
    private readonly tables: Tables,
    private readonly level: Level,
  ) {}

  /** Resolves when `mayHave` knows about this window, if it can be known. */
  async load(startMs: number): Promise<void> {
    const window = this.#windows.get(startMs) ?? this.#make(startMs);
    if (window.loaded || performance.now() < window.dueMs) return;
    try {
      const asked = `SELECT org, source, metric FROM ${this.tables[this.level.table]} WHERE ts = $1`;
      const rows = await this.sql.rows<[string, string, string]>(asked, [`${startMs}000`], patienceMs);
      for (const [org, source, metric] of rows) window.keys.add(seriesKey(org, source, metric));
      window.loaded = true;
    } catch {
      window.dueMs = performance.now() + askAgainMs;
    }
  }

  #make(startMs: number): KnownWindow {
    const [oldest] = this.#windows.keys();
    if (this.#windows.size === this.level.mostOpen) this.#windows.delete(oldest!);
    const window = { keys: new Set<string>(), loaded: false, dueMs: 0 };
    this.#windows.set(startMs, window);
    return window;
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

import type { RollupLevel } from './rollup-database.js';

const askAgainMs = 30_000;

interface KnownWindow {
  readonly keys: Set<string>;
  loaded: boolean;
  /** When the database is asked again, after it gave no answer. */
  dueMs: number;
}

/** Which series have a stored row, for the windows of one level that are being folded: one question a window, for all series. */
export class KnownRows {
  readonly #windows = new Map<number, KnownWindow>();

  constructor(private readonly level: Pick<RollupLevel, 'keysWithRow' | 'maxOpen'>) {}

  /** Resolves when `mayHave` knows about this window, or when that cannot be known now. */
  async load(startMs: number): Promise<void> {
    const window = this.#windows.get(startMs) ?? this.#make(startMs);
    if (window.loaded || performance.now() < window.dueMs) return;
    try {
      for (const key of await this.level.keysWithRow(startMs)) window.keys.add(key);
      window.loaded = true;
    } catch {
      window.dueMs = performance.now() + askAgainMs;
    }
  }

  #make(startMs: number): KnownWindow {
    const [oldest] = this.#windows.keys();
    if (this.#windows.size === this.level.maxOpen) this.#windows.delete(oldest!);
    const window = { keys: new Set<string>(), loaded: false, dueMs: 0 };
    this.#windows.set(startMs, window);
    return window;
  }

  /** Whether this series may have a row for the window: true also while that is not known. */
  mayHave(startMs: number, key: string): boolean {
    const window = this.#windows.get(startMs);
    return !window?.loaded || window.keys.has(key);
  }

  /** Notes a row that was written since the window was asked for. */
  add(startMs: number, key: string): void {
    this.#windows.get(startMs)?.keys.add(key);
  }
}

import { addText, NameFilter, type NameHash } from '#model';
import type { RollupLevel } from './rollup-database.js';

const askAgainMs = 30_000;
/** Memory for a name in a `NameFilter`, about. */
const nameBytes = 8;

interface KnownWindow {
  readonly sources: NameFilter;
  /** How many sources were added. */
  count: number;
  loaded: boolean;
  /** When the database is asked again, after it gave no answer. */
  dueMs: number;
}

/**
 * Which sources have a stored row, for the windows of one level that are being folded: one question a window, for all sources. Each takes a few
 * bytes, so that a member of a group can know them for all series of an installation. A source without a row is now and then taken for one that
 * has one: then a window is made again from what is stored, which is right too.
 */
export class KnownRows {
  /** Memory for all of it, about. */
  bytes = 0;
  readonly #windows = new Map<number, KnownWindow>();
  readonly #start: NameHash = { a: random32(), b: random32() };
  readonly #hash: NameHash = { a: 0, b: 0 };

  constructor(private readonly level: Pick<RollupLevel, 'sourcesWithRow' | 'maxOpen'>) {}

  /** Resolves when `mayHave` knows about this window, or when that cannot be known now. */
  async load(startMs: number): Promise<void> {
    const window = this.#windows.get(startMs) ?? this.#make(startMs);
    if (window.loaded || performance.now() < window.dueMs) return;
    try {
      await this.level.sourcesWithRow(startMs, (source) => this.add(startMs, source));
      window.loaded = true;
    } catch {
      window.dueMs = performance.now() + askAgainMs;
    }
  }

  #make(startMs: number): KnownWindow {
    if (this.#windows.size === this.level.maxOpen) this.#forgetOldest();
    const window = { sources: new NameFilter(), count: 0, loaded: false, dueMs: 0 };
    this.#windows.set(startMs, window);
    return window;
  }

  #forgetOldest(): void {
    const [startMs, { count }] = this.#windows.entries().next().value!;
    this.#windows.delete(startMs);
    this.bytes -= nameBytes * count;
  }

  /** Whether a series of this source may have a row for the window: true also while that is not known. */
  mayHave(startMs: number, source: string): boolean {
    const window = this.#windows.get(startMs);
    return !window?.loaded || window.sources.has(this.#hashOf(source));
  }

  /** Notes a row that was written since the window was asked for. */
  add(startMs: number, source: string): void {
    const window = this.#windows.get(startMs);
    const hash = this.#hashOf(source);
    if (!window || window.sources.has(hash)) return;
    window.sources.add(hash);
    window.count++;
    this.bytes += nameBytes;
  }

  #hashOf(source: string): NameHash {
    return addText(this.#start, source, this.#hash);
  }
}

const random32 = (): number => Math.floor(Math.random() * 2 ** 32);

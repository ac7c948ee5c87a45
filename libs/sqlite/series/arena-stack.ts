import { TelemetryError } from '#model';
import type { WorkerThread } from '../worker.js';
import { Arena, ArenaColumns, type ArenaSize } from './arena.js';
import type { LentArena } from './arena-reader.js';
import type { Directory } from './directory.js';
import type { SealedArena } from './flush.js';
import type { OpenedStore } from './writer.js';

const ordinarySize: ArenaSize = { points: 2 * 1024 * 1024, pieces: 512 * 1024 };
/** Sealed arenas that may wait for the writer thread. */
const maxSealed = 1;
const retryMs = 1000;

interface Sealed {
  readonly arena: Arena;
  readonly request: SealedArena;
}

interface Waiting {
  readonly arena: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** The arena that takes points now, and the sealed ones that the writer thread has yet to make runs of. */
export class ArenaStack {
  #active: Arena;
  #sealed: Sealed[] = [];
  #spare: ArenaColumns[] = [];
  #waiting: Waiting[] = [];
  #flushing = false;
  #tidying: Promise<void> | undefined;
  #lastFlushed: number;
  #ended = false;
  /** Numbers of the arenas that were lent last, and how many of their tag sets the reader has. */
  #lent = new Map<number, number>();
  /** By partition: the highest offset that was taken. */
  readonly #offsets: Map<number, number>;
  /** The offset after the newest record that was begun. */
  #next = 0;

  constructor(
    private readonly writer: WorkerThread,
    private readonly directory: Directory,
    { lastArena, offsets }: OpenedStore,
    private readonly size = ordinarySize,
  ) {
    this.#lastFlushed = lastArena;
    this.#offsets = new Map(Object.entries(offsets).map(([partition, offset]) => [Number(partition), offset]));
    this.#active = new Arena(lastArena + 1, ArenaColumns.allocate(size));
  }

  get active(): Arena {
    return this.#active;
  }

  /** True when the record at a place is in the store or an arena. */
  holds(partition: number, offset: number): boolean {
    return offset <= (this.#offsets.get(partition) ?? -1);
  }

  /** The next points are of the record with this offset. */
  begin(offset: number): void {
    this.#next = Math.max(this.#next, offset + 1);
  }

  /** All of the record at a place was taken. */
  took(partition: number, offset: number): void {
    this.#offsets.set(partition, offset);
  }

  /** Seals the active arena; resolves when there is a new one. Rejects when there is no room as the writer thread cannot write. */
  async seal(): Promise<void> {
    if (this.#sealed.length >= maxSealed) await this.flushed(this.#sealed[0]!.arena.number);
    const arena = this.#active;
    const { number, columns, points, pieces, tagSets } = arena;
    const { buffer, size } = columns;
    const offsets = Object.fromEntries(this.#offsets);
    this.#sealed.push({
      arena,
      request: { number, buffer, size, points, pieces, tagSets, offsets, next: this.#next, directory: this.directory.takeNew() },
    });
    this.#active = new Arena(number + 1, this.#spare.pop() ?? ArenaColumns.allocate(this.size));
    if (!this.#flushing) void this.#flush();
  }

  /** Seals what there is and returns the number of the last arena that then holds something. */
  async sealLast(): Promise<number> {
    if (this.#active.points > 0) await this.seal();
    return this.#active.number - 1;
  }

  /** Resolves when that arena is in a run; rejects `store_unavailable` when writing it, or one before it, has just failed. */
  flushed(arena: number): Promise<void> {
    if (arena <= this.#lastFlushed) return Promise.resolve();
    if (this.#ended) return Promise.reject(closed());
    return new Promise((resolve, reject) => this.#waiting.push({ arena, resolve, reject }));
  }

  /** Lends the arenas to a read of these series, which is to be sent to the reader thread; `giveBack` ends that. */
  lend(series: ArrayLike<number>): { arenas: LentArena[]; giveBack: () => void } {
    const arenas = [...this.#sealed.map(({ arena }) => arena), this.#active];
    const before = this.#lent;
    this.#lent = new Map(arenas.map(({ number, tagSets }) => [number, tagSets.length]));
    for (const arena of arenas) arena.readers++;
    return {
      arenas: arenas.map((arena) => ({
        number: arena.number,
        buffer: before.has(arena.number) ? undefined : arena.columns.buffer,
        size: arena.columns.size,
        heads: arena.heads(series),
        newTagSets: arena.tagSets.slice(before.get(arena.number) ?? 0),
      })),
      giveBack: () => {
        for (const arena of arenas) {
          arena.readers--;
          this.#reuse(arena);
        }
      },
    };
  }

  /** Writes no more; what waits rejects. */
  end(): void {
    this.#ended = true;
    this.#reject(closed());
  }

  async #flush(): Promise<void> {
    this.#flushing = true;
    while (this.#sealed.length > 0 && !this.#ended) {
      const { arena, request } = this.#sealed[0]!;
      try {
        await this.writer.call('series.flush', request);
        this.#sealed.shift();
        this.#lastFlushed = arena.number;
        this.#reuse(arena);
        this.#resolve();
        void this.tidied();
      } catch (cause) {
        this.#reject(new TelemetryError('store_unavailable', 'The store cannot be written.', { cause }));
        await new Promise((resolve) => setTimeout(resolve, retryMs).unref());
      }
    }
    this.#flushing = false;
  }

  /** Resolves when no runs are left to merge. What fails is tried again after the next flush. */
  tidied(): Promise<void> {
    this.#tidying ??= this.#tidy().finally(() => (this.#tidying = undefined));
    return this.#tidying;
  }

  async #tidy(): Promise<void> {
    try {
      while (!this.#ended && (await this.writer.call<boolean>('series.tidy')));
    } catch {
      // Reads of a damaged run say so; a full disk fails the flushes too.
    }
  }

  #reuse(arena: Arena): void {
    const flushed = arena.number <= this.#lastFlushed;
    if (flushed && arena.readers === 0 && this.#spare.length <= maxSealed) this.#spare.push(arena.columns);
  }

  #resolve(): void {
    const done = this.#waiting.filter(({ arena }) => arena <= this.#lastFlushed);
    this.#waiting = this.#waiting.filter(({ arena }) => arena > this.#lastFlushed);
    for (const { resolve } of done) resolve();
  }

  #reject(error: Error): void {
    const rejected = this.#waiting;
    this.#waiting = [];
    for (const { reject } of rejected) reject(error);
  }
}

function closed(): TelemetryError {
  return new TelemetryError('store_unavailable', 'The store is closed.');
}

import { setTimeout } from 'node:timers/promises';
import { TelemetryError } from '#model';
import type { WorkerThread } from '../worker.js';
import { Arena, ArenaMemory, type ArenaSize, type LentArena, type OpenedStore, type SealedArena } from './arena.js';
import type { Directory } from './directory.js';
import type { EndedSeries } from './ended.js';

const ordinarySize: ArenaSize = { chunks: 8, chunkPoints: 256 * 1024, pieces: 512 * 1024 };
const retryMs = 1000;
/** The memory of so many written arenas is kept for the next arenas. */
const maxSpare = 2;

interface Sealed {
  readonly arena: Arena;
  readonly request: SealedArena;
  /** Settles with the running attempt to write the arena, or with the next attempt when none is running. */
  attempt: PromiseWithResolvers<void>;
}

/** The arena that takes points now, and the sealed one that the writer thread has yet to make a run of. */
export class ArenaStack {
  #active: Arena;
  #sealed: Sealed | undefined;
  /** Memory of written arenas. An arena gets chunks as it fills, so that those of one that is being written are mostly back before they are needed. */
  readonly #sparePieces: SharedArrayBuffer[] = [];
  readonly #spareChunks: SharedArrayBuffer[] = [];
  #tidying: Promise<void> | undefined;
  #lastFlushed: number;
  #isOver = false;
  /** For each arena that the last read was given, by the number of the arena: how many of its chunks and tag sets the reader has. */
  #lent = new Map<number, { readonly chunks: number; readonly tagSets: number }>();
  /** The highest offset that was taken, by partition. */
  readonly #offsets: Map<number, number>;
  /** The offset after the newest record that was begun. */
  #next = 0;
  /** What deletions have ended since the last arena was sealed. */
  #ended: EndedSeries[] = [];

  constructor(
    private readonly writer: WorkerThread,
    private readonly directory: Directory,
    { lastArena, offsets }: OpenedStore,
    private readonly size = ordinarySize,
  ) {
    this.#lastFlushed = lastArena;
    this.#offsets = new Map(Object.entries(offsets).map(([partition, offset]) => [Number(partition), offset]));
    this.#active = this.#newArena(lastArena + 1);
  }

  get active(): Arena {
    return this.#active;
  }

  /** True when `seal` must be called before more is taken. */
  get isFull(): boolean {
    return this.#active.full || this.directory.isFull;
  }

  /** True when the record with this offset is in the store or an arena. */
  holds(partition: number, offset: number): boolean {
    return offset <= (this.#offsets.get(partition) ?? -1);
  }

  /** The next points belong to the record with this offset. */
  begin(offset: number): void {
    this.#next = Math.max(this.#next, offset + 1);
  }

  /** A deletion has ended these series: no arena after this one has points of them. */
  end(ended: EndedSeries): void {
    this.#ended.push(ended);
  }

  /** All points of the record with this offset were taken. */
  took(partition: number, offset: number): void {
    this.#offsets.set(partition, offset);
  }

  /**
   * Seals the active arena; resolves when there is a new one. Only one sealed arena waits: rejects when the writer thread cannot write that. Calls
   * must come one after the other.
   * @param wanted what is to be kept from now on, where that changes.
   */
  async seal(wanted?: SealedArena['wanted']): Promise<void> {
    if (this.#sealed) await this.#sealed.attempt.promise;
    const arena = this.#active;
    const { number, memory, pieces, tagSets } = arena;
    // The next arena is made before anything changes, because its memory may not be there.
    const next = this.#newArena(number + 1);
    const { buffers, size } = memory;
    const offsets = Object.fromEntries(this.#offsets);
    const directory = this.directory.takeNew();
    const ended = this.#ended;
    this.#ended = [];
    const request = { number, buffers, size, pieces, tagSets, offsets, next: this.#next, directory, ended, wanted };
    this.#sealed = { arena, request, attempt: anAttempt() };
    this.#active = next;
    void this.#flush(this.#sealed);
  }

  /** Seals what there is and returns the number of the last arena that then holds something. */
  async sealLast(): Promise<number> {
    if (this.#active.points > 0 || this.#ended.length > 0) await this.seal();
    return this.#active.number - 1;
  }

  /** Resolves when that arena, which is sealed, is in a run; rejects `store_unavailable` when an attempt to write it fails. */
  async flushed(arena: number): Promise<void> {
    if (arena > this.#lastFlushed) await this.#sealed!.attempt.promise;
  }

  /** Lends the arenas to a read of these series, which is to be sent to the reader thread; `giveBack` ends that. */
  lend(series: ArrayLike<number>): { arenas: LentArena[]; giveBack: () => void } {
    const arenas = this.#sealed ? [this.#sealed.arena, this.#active] : [this.#active];
    const before = this.#lent;
    const buffers = arenas.map(({ memory }) => memory.buffers);
    this.#lent = new Map(
      arenas.map(({ number, tagSets }, at) => [number, { chunks: buffers[at]!.chunks.length, tagSets: tagSets.length }]),
    );
    for (const arena of arenas) arena.readers++;
    return {
      arenas: arenas.map((arena, at) => {
        const { number, memory, tagSets } = arena;
        const had = before.get(number);
        const { pieces, chunks } = buffers[at]!;
        return {
          number,
          pieces: had ? undefined : pieces,
          newChunks: chunks.slice(had?.chunks ?? 0),
          size: memory.size,
          heads: arena.heads(series),
          newTagSets: tagSets.slice(had?.tagSets ?? 0),
        };
      }),
      giveBack: () => {
        for (const arena of arenas) {
          arena.readers--;
          this.#reuse(arena);
        }
      },
    };
  }

  /** Writes no more; what waits rejects. */
  stop(): void {
    this.#isOver = true;
    this.#sealed?.attempt.reject(closed());
  }

  async #flush(sealed: Sealed): Promise<void> {
    while (!this.#isOver) {
      try {
        await this.writer.call('series.flush', sealed.request);
        break;
      } catch (cause) {
        const { reject } = sealed.attempt;
        sealed.attempt = anAttempt();
        reject(new TelemetryError('store_unavailable', 'The store cannot be written.', { cause }));
        await setTimeout(retryMs, undefined, { ref: false });
      }
    }
    if (this.#isOver) return sealed.attempt.reject(closed());
    this.directory.wrote();
    this.#lastFlushed = sealed.arena.number;
    this.#sealed = undefined;
    this.#reuse(sealed.arena);
    sealed.attempt.resolve();
    void this.tidied();
  }

  /** Resolves when no runs are left to merge. What fails is tried again after the next flush. */
  tidied(): Promise<void> {
    this.#tidying ??= this.#tidy().finally(() => (this.#tidying = undefined));
    return this.#tidying;
  }

  async #tidy(): Promise<void> {
    try {
      while (!this.#isOver && (await this.writer.call<boolean>('series.tidy')));
    } catch {
      // A damaged run is reported by the reads that meet it, and a full disk by the flushes.
    }
  }

  #newArena(number: number): Arena {
    const { size } = this;
    const pieces = this.#sparePieces.pop() ?? ArenaMemory.memoryForPieces(size);
    return new Arena(number, new ArenaMemory(pieces, size), () => this.#spareChunks.pop() ?? ArenaMemory.memoryForChunk(size));
  }

  #reuse(arena: Arena): void {
    if (arena.number > this.#lastFlushed || arena.readers > 0) return;
    const { pieces, chunks } = arena.memory.buffers;
    if (this.#sparePieces.length < maxSpare) this.#sparePieces.push(pieces);
    this.#spareChunks.push(...chunks.slice(0, maxSpare * this.size.chunks - this.#spareChunks.length));
  }
}

/** A failed attempt rejects for those who wait for it. When nobody does, the failure is ignored: the arena is written again anyway. */
function anAttempt(): PromiseWithResolvers<void> {
  const attempt = Promise.withResolvers<void>();
  attempt.promise.catch(() => undefined);
  return attempt;
}

function closed(): TelemetryError {
  return new TelemetryError('store_unavailable', 'The store is closed.');
}

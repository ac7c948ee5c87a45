import type { Batch, Buffer, BufferLimits, BufferListener } from './buffer.js';

/** Keeps batches for as long as the process lives. */
export class MemoryBuffer implements Buffer {
  #waiting: Batch[] = [];
  readonly #taken = new Set<Batch>();
  readonly opened = Promise.resolve();
  points = 0;
  bytes = 0;
  untakenBytes = 0;
  untakenPoints = 0;

  constructor(
    private readonly limits: BufferLimits,
    private readonly listener: Pick<BufferListener, 'dropped'>,
  ) {}

  hasRoom(bytes: number): boolean {
    return this.bytes + bytes <= this.limits.maxBytes;
  }

  add(batch: Batch): void {
    while (this.limits.full === 'drop-oldest' && !this.hasRoom(batch.bytes) && this.#waiting.length > 0) this.#drop();
    this.#waiting.push(batch);
    this.#count(batch, 1);
    this.#countUntaken(batch, 1);
  }

  take(maxPoints: number, maxBytes: number): Promise<Batch[]> {
    const taken: Batch[] = [];
    let [points, bytes] = [0, 0];
    for (const batch of this.#waiting) {
      points += batch.points;
      bytes += batch.bytes;
      if (taken.length > 0 && (points > maxPoints || bytes > maxBytes)) break;
      taken.push(batch);
      this.#taken.add(batch);
      this.#countUntaken(batch, -1);
    }
    this.#waiting.splice(0, taken.length);
    return Promise.resolve(taken);
  }

  settle(batches: readonly Batch[]): void {
    for (const batch of batches) if (this.#taken.delete(batch)) this.#count(batch, -1);
  }

  saved(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #drop(): void {
    const oldest = this.#waiting.shift()!;
    this.#count(oldest, -1);
    this.#countUntaken(oldest, -1);
    this.listener.dropped(oldest.points, 'full');
  }

  #count({ points, bytes }: Batch, sign: 1 | -1): void {
    this.points += sign * points;
    this.bytes += sign * bytes;
  }

  #countUntaken({ points, bytes }: Batch, sign: 1 | -1): void {
    this.untakenPoints += sign * points;
    this.untakenBytes += sign * bytes;
  }
}

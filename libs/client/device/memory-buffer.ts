import type { Batch, Buffer, BufferLimits, BufferListener, Size } from './buffer.js';

/** Keeps batches for as long as the process lives. */
export function memoryBuffer({ maxBytes, full }: BufferLimits, listener: Pick<BufferListener, 'dropped'>): Buffer {
  const waiting: Batch[] = [];
  const taken = new Set<Batch>();
  const all = { points: 0, bytes: 0 };
  const untaken = { points: 0, bytes: 0 };
  const hasRoom = (bytes: number): boolean => all.bytes + bytes <= maxBytes;

  return {
    opened: Promise.resolve(),
    all,
    untaken,
    hasRoom,
    add(batch) {
      if (full !== 'reject')
        while (!hasRoom(batch.bytes) && waiting.length > 0) {
          const oldest = waiting.shift()!;
          count(all, oldest, -1);
          count(untaken, oldest, -1);
          listener.dropped(oldest.points, 'full');
        }
      waiting.push(batch);
      count(all, batch, 1);
      count(untaken, batch, 1);
    },
    async take(maxPoints, mostBytes) {
      const size = { points: 0, bytes: 0 };
      const batches: Batch[] = [];
      for (const batch of waiting) {
        count(size, batch, 1);
        if (batches.length > 0 && (size.points > maxPoints || size.bytes > mostBytes)) break;
        batches.push(batch);
        taken.add(batch);
        count(untaken, batch, -1);
      }
      waiting.splice(0, batches.length);
      return batches;
    },
    settle(batches) {
      for (const batch of batches) if (taken.delete(batch)) count(all, batch, -1);
    },
    close: () => Promise.resolve(),
  };
}

function count(size: { points: number; bytes: number }, { points, bytes }: Size, sign: 1 | -1): void {
  size.points += sign * points;
  size.bytes += sign * bytes;
}

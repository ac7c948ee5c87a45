import { afterEach, describe, expect, it } from '@jest/globals';
import type { Batch, Buffer, BufferLimits, BufferListener } from './buffer.js';

const mib = 1024 * 1024;

/** A batch whose text tells its number. */
export function batchOf(number: number, points = 1, bytes = 20): Batch {
  const text = `${number}:`.padEnd(bytes, 'x');
  return { text, points, bytes: text.length };
}

export const numberOf = ({ text }: Batch): number => Number.parseInt(text, 10);

/** What every buffer promises. */
export function bufferContract(make: (limits: BufferLimits, listener: BufferListener) => Promise<Buffer>): void {
  const open: Buffer[] = [];
  let dropped: [points: number, reason: string][] = [];

  afterEach(async () => {
    dropped = [];
    for (const buffer of open.splice(0)) await buffer.close();
  });

  async function bufferOf(limits: Partial<BufferLimits> = {}): Promise<Buffer> {
    const listener: BufferListener = {
      dropped: (points, reason) => dropped.push([points, reason]),
      failed: (error) => {
        throw error;
      },
    };
    const buffer = await make({ maxBytes: mib, full: 'drop-oldest', ...limits }, listener);
    open.push(buffer);
    return buffer;
  }

  const takeAll = async (buffer: Buffer): Promise<number[]> => {
    const numbers = [];
    for (let some = await buffer.take(10, mib); some.length > 0; some = await buffer.take(10, mib)) {
      numbers.push(...some.map(numberOf));
      buffer.settle(some);
    }
    return numbers;
  };

  it('gives batches in the order in which they came, each once', async () => {
    const buffer = await bufferOf();
    for (let at = 0; at < 100; at++) buffer.add(batchOf(at));
    expect(await takeAll(buffer)).toEqual(Array.from({ length: 100 }, (_, at) => at));
    expect(await buffer.take(10, mib)).toEqual([]);
  });

  it.each([
    [3, mib, [0, 1, 2]],
    [5, mib, [0, 1, 2, 3, 4]],
    [100, 60, [0, 1, 2]],
    [100, 1, [0]],
  ] as const)('takes at most %i points and %i bytes, but at least one batch', async (points, bytes, expected) => {
    const buffer = await bufferOf();
    for (let at = 0; at < 8; at++) buffer.add(batchOf(at));
    expect((await buffer.take(points, bytes)).map(numberOf)).toEqual(expected);
  });

  it('counts what is not settled, and what nobody has taken', async () => {
    const buffer = await bufferOf();
    buffer.add(batchOf(0, 3));
    buffer.add(batchOf(1, 4));
    expect(buffer).toMatchObject({ all: { points: 7, bytes: 40 }, untaken: { points: 7, bytes: 40 } });
    const taken = await buffer.take(3, mib);
    expect(buffer).toMatchObject({ all: { points: 7, bytes: 40 }, untaken: { points: 4, bytes: 20 } });
    buffer.settle(taken);
    buffer.settle(taken);
    expect(buffer).toMatchObject({ all: { points: 4, bytes: 20 }, untaken: { points: 4, bytes: 20 } });
    expect(dropped).toEqual([]);
  });

  it('drops the oldest that nobody has taken when it is full, and counts them', async () => {
    const buffer = await bufferOf();
    buffer.add(batchOf(0, 2, 10_000));
    const taken = await buffer.take(2, mib);
    for (let at = 1; at < 200; at++) buffer.add(batchOf(at, 2, 10_000));
    const gone = dropped.reduce((sum, [points]) => sum + points, 0);
    expect(gone).toBeGreaterThan(180);
    expect(dropped.every(([, reason]) => reason === 'full')).toBe(true);
    const numbers = await takeAll(buffer);
    expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, at) => 200 - numbers.length + at));
    expect(2 * numbers.length + gone + 2).toBe(400);
    buffer.settle(taken);
    expect(buffer).toMatchObject({ all: { points: 0, bytes: 0 }, untaken: { points: 0, bytes: 0 } });
  });

  it('drops nothing when that is the wish, and says when there is room', async () => {
    const buffer = await bufferOf({ full: 'reject' });
    let added = 0;
    while (buffer.hasRoom(10_000)) buffer.add(batchOf(added++, 1, 10_000));
    expect(added).toBeGreaterThan(80);
    await buffer.saved?.();
    buffer.settle(await buffer.take(10_000, 500_000));
    expect(buffer.hasRoom(10_000)).toBe(true);
    expect((await takeAll(buffer)).at(-1)).toBe(added - 1);
    expect(dropped).toEqual([]);
  });

  describe('while one takes and another adds', () => {
    it('loses nothing', async () => {
      const buffer = await bufferOf({ maxBytes: 16 * mib });
      const numbers: number[] = [];
      for (let at = 0; at < 3000; at++) {
        buffer.add(batchOf(at, 1, 1 + (at % 7) * 500));
        if (at % 5 !== 0) continue;
        const some = await buffer.take(at % 11, mib);
        numbers.push(...some.map(numberOf));
        if (at % 3 === 0) buffer.settle(some);
      }
      numbers.push(...(await takeAll(buffer)));
      expect(numbers).toEqual(Array.from({ length: 3000 }, (_, at) => at));
    });
  });
}

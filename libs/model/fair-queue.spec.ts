import { describe, expect, it } from '@jest/globals';
import { FairQueue } from './fair-queue.js';

function inTurns(...items: string[]): string {
  const queue = new FairQueue<string>();
  for (const item of items) queue.add(item[0]!, item);
  return Array.from(items, () => queue.take()).join(' ');
}

describe('a fair queue', () => {
  it.each([
    [['a1', 'a2', 'a3'], 'a1 a2 a3'],
    [['a1', 'a2', 'a3', 'b1'], 'a1 b1 a2 a3'],
    [['a1', 'b1', 'a2', 'c1', 'b2', 'b3'], 'a1 b1 c1 a2 b2 b3'],
  ])('gives %j as %s', (items, expected) => {
    expect(inTurns(...items)).toBe(expected);
  });

  it('puts a key that comes again behind those that wait', () => {
    const queue = new FairQueue<string>();
    queue.add('a', 'a1');
    queue.add('b', 'b1');
    expect(queue.take()).toBe('a1');
    queue.add('a', 'a2');
    expect([queue.take(), queue.take(), queue.take(), queue.isEmpty]).toEqual(['b1', 'a2', undefined, true]);
  });
});

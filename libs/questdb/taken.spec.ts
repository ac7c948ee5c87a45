import { expect, it } from '@jest/globals';
import { Taken } from './taken.js';

const at = (offset: number, partition = 0): { readonly partition: number; readonly offset: number } => ({ partition, offset });

it('says which records were taken, whatever their order, and forgets those of a batch that begins anew in another way', () => {
  const taken = new Taken();
  const has = (partition = 0): readonly number[] => [0, 1, 2, 3, 4].filter((offset) => taken.has(at(offset, partition)));
  for (const offset of [2, 0]) taken.add(at(offset));
  taken.add(at(3, 1));
  expect([has(), has(1)]).toEqual([[0, 2], [3]]);
  taken.all([at(0)]);
  expect([has(), has(1)]).toEqual([[0], [3]]);
  taken.all([at(1), at(2), at(3)]);
  expect([has(), has(1)]).toEqual([[0, 1, 2, 3], [3]]);
});

import { expect, it } from '@jest/globals';
import { oneAtATime } from './one-at-a-time.js';

it('work runs one piece after the other, also after one that fails', async () => {
  const inTurn = oneAtATime();
  const course: string[] = [];
  const gates = ['a', 'b', 'c'].map((name) => ({ name, ...Promise.withResolvers<string>() }));
  const done = gates.map(({ name, promise }) =>
    inTurn(async () => {
      course.push(`${name} begins`);
      const value = await promise;
      course.push(`${name} ends`);
      return value;
    }),
  );
  gates[2]!.resolve('third');
  gates[1]!.reject(new Error('no'));
  gates[0]!.resolve('first');
  expect(await Promise.allSettled(done)).toMatchObject([{ value: 'first' }, { reason: { message: 'no' } }, { value: 'third' }]);
  expect(course).toEqual(['a begins', 'a ends', 'b begins', 'c begins', 'c ends']);
});

import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Complaints } from './complaints.js';

let told: string[];
let complaints: Complaints;
beforeEach(() => {
  jest.useFakeTimers();
  told = [];
  complaints = new Complaints((message) => told.push(message));
});
afterEach(() => void jest.useRealTimers());

const fail = (times: number, cause: string, partitions = [3]): void => {
  for (let n = 0; n < times; n++) {
    jest.advanceTimersByTime(1_000);
    for (const partition of partitions) complaints.failed(`a batch of t/${partition}`, new Error(cause), ' from offset 7');
  }
};

it('tells once of what fails again and again, and when it works again', () => {
  fail(152, 'The store is away.');
  complaints.worked('a batch of t/3');
  complaints.worked('a batch of t/3');
  expect(told).toEqual([
    'a batch of t/3 failed from offset 7: The store is away',
    'a batch of t/3 works again, after 152 failures in 151 s',
  ]);
});

it('tells of another cause after a minute, and of the same one after ten', () => {
  fail(30, 'one');
  fail(31, 'other');
  fail(601, 'other');
  expect(told).toEqual([
    'a batch of t/3 failed from offset 7: one',
    'a batch of t/3 failed from offset 7: other, the last of 61 failures in 60 s',
    'a batch of t/3 failed from offset 7: other, the last of 661 failures in 660 s',
  ]);
});

it('tells once of all that fails for one cause, and when the last of it works again', () => {
  const partitions = Array.from({ length: 24 }, (_, partition) => partition);
  fail(2, 'one', partitions);
  complaints.failed('a checkpoint', new Error('another'));
  fail(2, 'two', partitions);
  for (const partition of partitions) complaints.worked(`a batch of t/${partition}`);
  expect(told).toEqual([
    'a batch of t/0 failed from offset 7: one',
    'a checkpoint failed: another',
    'a batch of t/23 works again, after 96 failures in 3 s',
  ]);
});

it('tells nothing more of what is forgotten', () => {
  fail(1, 'one');
  complaints.forget();
  complaints.worked('a batch of t/3');
  expect(told).toEqual(['a batch of t/3 failed from offset 7: one']);
});

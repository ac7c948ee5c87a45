import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { Gathering } from './gathering.js';

beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate', 'nextTick', 'queueMicrotask', 'performance'] }));
afterEach(() => void jest.useRealTimers());

function add(gathering: Gathering, appends: number): void {
  for (let n = 0; n < appends; n++) gathering.add();
}

/** Says that so many appends are answered, and tells when the next commit may begin. */
function answered(gathering: Gathering, appends: number): { isTime: boolean } {
  const told = { isTime: false };
  void gathering.answered(appends).then(() => (told.isTime = true));
  return told;
}

async function turns(count = 5): Promise<void> {
  for (let n = 0; n < count; n++) await turn();
}

/** Whether a commit waits for callers of the last one, none of whom comes back. */
async function waitsInVain(gathering: Gathering): Promise<boolean> {
  add(gathering, 4);
  const next = answered(gathering, 4);
  await turns();
  const waits = !next.isTime;
  jest.advanceTimersByTime(2);
  await turns();
  expect(next.isTime).toBe(true);
  return waits;
}

describe('a commit', () => {
  it.each([
    ['a lone caller comes back', 1, 0, 1],
    ['all callers come back', 4, 0, 4],
    ['the others wait already', 4, 4, 4],
  ])('begins when %s', async (_, callers, others, back) => {
    const gathering = new Gathering();
    add(gathering, callers + others);
    const next = answered(gathering, callers);
    await turns();
    add(gathering, back - 1);
    await turns();
    expect(next.isTime).toBe(false);
    add(gathering, 1);
    await turns();
    expect(next.isTime).toBe(true);
  });

  it('takes along what each turn brings, whoever has sent it', async () => {
    const gathering = new Gathering();
    add(gathering, 1);
    const next = answered(gathering, 1);
    for (let n = 0; n < 20; n++) {
      add(gathering, 1);
      await turn();
      expect(next.isTime).toBe(false);
    }
    await turns();
    expect(next.isTime).toBe(true);
  });

  it('waits for 2 ms at most', async () => {
    const gathering = new Gathering();
    add(gathering, 8);
    const next = answered(gathering, 8);
    add(gathering, 7);
    await turns();
    jest.advanceTimersByTime(1);
    await turns();
    expect(next.isTime).toBe(false);
    jest.advanceTimersByTime(1);
    await turns();
    expect(next.isTime).toBe(true);
  });

  it('waits less and less often in vain, and again once callers come back', async () => {
    const gathering = new Gathering();
    const waits: number[] = [];
    for (let commit = 0; commit < 300; commit++) if (await waitsInVain(gathering)) waits.push(commit);
    expect(waits).toEqual([0, 2, 5, 10, 19, 36, 69, 134, 199, 264]);

    add(gathering, 1);
    const waited: boolean[] = [];
    while (waited.length < 68) {
      const next = answered(gathering, 1);
      await turns();
      waited.push(!next.isTime);
      add(gathering, 1);
      await turns();
      expect(next.isTime).toBe(true);
    }
    expect(waited.indexOf(true)).toBeLessThan(65);
    expect(waited.slice(waited.indexOf(true))).not.toContain(false);
  });
});

import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { onlyGeneration, type Stores } from '#stores';
import { Questions } from './questions.js';

const unlimited = { limits: () => ({}) };
const rows: Readonly<Record<string, number>> = { light: 600, heavy: 3_000_000 };

/** Asks questions named `<organization> <weight> <number>`, each of which is answered a turn of the event loop later; tells their order. */
async function order(...names: string[]): Promise<string[]> {
  const questions = new Questions({ ...onlyGeneration({} as Stores), readsAtOnce: 1 }, unlimited, Date.now);
  const asked: string[] = [];
  await Promise.all(
    names.map((name) => {
      const [orgId = '', weight = ''] = name.split(' ');
      return questions.ask(orgId, rows[weight]!, async () => {
        asked.push(name);
        await nextTurn();
      });
    }),
  );
  return asked;
}

const many = (name: string, count: number): string[] => Array.from({ length: count }, (_, at) => `${name} ${at}`);

afterEach(() => void jest.useRealTimers());

describe('questions to the stores', () => {
  it('of one organization delay those of another by one, and the one under way', async () => {
    expect((await order(...many('a heavy', 62), 'b heavy 0')).indexOf('b heavy 0')).toBe(2);
  });

  it('of one weight delay those of another by one, and the one under way', async () => {
    expect((await order(...many('a heavy', 62), 'a light 0')).indexOf('a light 0')).toBe(2);
  });

  it('of one weight are asked in the order in which they came', async () => {
    expect(await order(...many('a light', 5))).toEqual(many('a light', 5));
  });

  it('are asked as many at once as the stores answer, also after one has failed', async () => {
    const questions = new Questions({ ...onlyGeneration({} as Stores), readsAtOnce: 2 }, unlimited, Date.now);
    let [now, most] = [0, 0];
    const all = Array.from({ length: 10 }, (_, at) =>
      questions.ask('a', 1, async () => {
        most = Math.max(most, ++now);
        await nextTurn();
        now--;
        if (at % 2 === 0) throw new Error('failed');
        return at;
      }),
    );
    const settled = await Promise.allSettled(all);
    expect([most, settled.filter(({ status }) => status === 'fulfilled').length]).toEqual([2, 5]);
  });

  it('are refused while there is no generation, and asked again once there is one', async () => {
    const generations = onlyGeneration({} as Stores);
    let isThere = false;
    const live = (): Stores => {
      if (!isThere) throw new Error('none');
      return generations.live();
    };
    const questions = new Questions({ ...generations, live, readsAtOnce: 1 }, unlimited, Date.now);
    await expect(questions.ask('a', 1, () => Promise.resolve(1))).rejects.toThrow('none');
    isThere = true;
    expect(await questions.ask('a', 1, () => Promise.resolve(1))).toBe(1);
  });

  it.each([
    ['are answered too late', 1],
    ['wait too long for their turn', 0],
  ])('that %s are refused', async (_, readsAtOnce) => {
    jest.useFakeTimers();
    const questions = new Questions({ ...onlyGeneration({} as Stores), readsAtOnce }, unlimited, Date.now);
    const asked = questions.ask('a', 1, () => new Promise(() => {}));
    asked.catch(() => undefined);
    await jest.advanceTimersByTimeAsync(10_000);
    await expect(asked).rejects.toMatchObject({ code: 'store_unavailable' });
  });
});

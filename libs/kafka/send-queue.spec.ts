import { expect, it } from '@jest/globals';
import { until } from '#testing';
import { SendQueue } from './send-queue.js';

it('never sends later what a call was told between two attempts that it is not in the log', async () => {
  const sent: string[][] = [];
  let isAway = true;
  const producer = {
    send: async (sendings: readonly { readonly messages: readonly { readonly value: unknown }[] }[]) => {
      sent.push(sendings.flatMap(({ messages }) => messages.map(({ value }) => String(value))));
      if (isAway) throw new Error('away');
      return [];
    },
    cut: () => undefined,
  };
  const queue = new SendQueue(producer, 50);
  const add = (value: string): Promise<void> => queue.add([{ topic: 't', partition: 0, bytes: 1, message: { value } }]);
  // The pause after the first attempt is longer than the call waits.
  const first = add('a').catch((error: unknown) => {
    isAway = false;
    return error;
  });
  expect(await first).toMatchObject({ code: 'log_unavailable' });
  await add('b');
  expect(sent).toEqual([['a'], ['b']]);
  await until('nothing is held', () => queue.figures().bytes === 0);
});

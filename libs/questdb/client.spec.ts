import { expect, it } from '@jest/globals';
import { forever } from '#model';
import { Delivery, Figures, Refused, Outage, Signal } from './delivery.js';
import { NameRows } from './client.js';

/** A client that refuses bodies with a certain name, as QuestDB's does: it does not tell which row it was. */
function aTable(refused: string) {
  const stored: string[] = [];
  const client = {
    send: async (build: (sender: unknown) => Promise<void>): Promise<void> => {
      const names: string[] = [];
      const sender = {
        table: () => sender,
        symbol: (column: string, value: string) => {
          if (column === 'metric') names.push(value);
          return sender;
        },
        at: () => Promise.resolve(),
      };
      await build(sender);
      if (names.includes(refused)) throw new Refused(undefined, 'no');
      stored.push(...names);
    },
  };
  const path = { visibility: { of: () => Promise.resolve() }, outage: new Outage(), figures: new Figures(), tables: ['t'] };
  return { stored, names: new NameRows(client as never, 'metrics'), delivery: new Delivery(path, forever, new Signal()) };
}

it.each([0, 1, 6, 12])('The name that is refused is found among thirteen, as number %d', async (at) => {
  const { names, delivery } = aTable(`m${at}`);
  for (let n = 0; n < 13; n++) names.add({ org: 'o', source: 's', metric: `m${n}` } as never);
  await expect(names.write(delivery)).rejects.toMatchObject({ symbols: `,org=o,source=s,metric=m${at}` });
});

it('Names that are not refused are all stored', async () => {
  const { stored, names, delivery } = aTable('none of these');
  for (let n = 0; n < 13; n++) names.add({ org: 'o', source: 's', metric: `m${n}` } as never);
  await names.write(delivery);
  expect(stored).toHaveLength(13);
});

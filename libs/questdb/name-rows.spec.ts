import { expect, it } from '@jest/globals';
import { forever } from '#model';
import { Delivery, Figures, Refused, Outage, Signal } from './delivery.js';
import { NameRows } from './name-rows.js';

/** A table that refuses bodies with a certain metric, as QuestDB does. */
function aTable(refused: string) {
  const stored: string[] = [];
  const send = async (body: Uint8Array): Promise<void> => {
    const rows = Buffer.from(body).toString().trimEnd().split('\n');
    const row = rows.findIndex((one) => one.includes(`metric=${refused} `));
    if (row >= 0) throw new Refused(row, 'no');
    stored.push(...rows);
  };
  const path = { visibility: { of: () => Promise.resolve() }, outage: new Outage(), figures: new Figures(), tables: ['t'] };
  return { stored, names: new NameRows({ send }, 'metrics'), delivery: new Delivery(path, forever, new Signal()) };
}

it.each([0, 1, 6, 12])('The name that is refused is told among thirteen, as number %d', async (at) => {
  const { names, delivery } = aTable(`m${at}`);
  for (let n = 0; n < 13; n++) names.add({ org: 'o', source: 's', metric: `m${n}` } as never);
  await expect(names.write(delivery)).rejects.toMatchObject({ symbols: `,org=o,source=s,metric=m${at}` });
});

it('Names that are not refused are all stored', async () => {
  const { stored, names, delivery } = aTable('none of these');
  for (let n = 0; n < 13; n++) names.add({ org: 'o', source: 's', metric: `m${n}` } as never);
  await names.write(delivery);
  expect(stored).toEqual(Array.from({ length: 13 }, (_, n) => `metrics,org=o,source=s,metric=m${n} 0`));
});

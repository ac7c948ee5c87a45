import { Sender } from '@questdb/nodejs-client';
import { LineRows, type LineRow } from './line-rows.js';
import { ownCpuS, work } from './processes.js';

/** Bodies of rows for QuestDB's own client. */
export interface ClientOrder {
  readonly url: string;
  readonly bodies: readonly Uint8Array[];
}

export interface ClientReport {
  /** Of this process. */
  readonly cpuS: number;
}

async function write(sender: Sender, { table, symbols, columns, timestampMs }: LineRow): Promise<void> {
  sender.table(table);
  for (const [name, value] of symbols) sender.symbol(name, value);
  for (const [name, value, whole] of columns) {
    if (whole) sender.intColumn(name, value);
    else sender.floatColumn(name, value);
  }
  await sender.at(timestampMs, 'ms');
}

await work(async ({ url, bodies }: ClientOrder) => {
  const lines = new LineRows();
  const batches = bodies.map((body) => lines.of(body));
  const sender = await Sender.fromConfig(`http::addr=${new URL(url).host};stdlib_http=on;auto_flush=off;protocol_version=2`);
  return async () => {
    const cpuS = await ownCpuS(async () => {
      for (const batch of batches) {
        for (const row of batch) await write(sender, row);
        await sender.flush();
      }
    });
    await sender.close();
    return { cpuS } satisfies ClientReport;
  };
});

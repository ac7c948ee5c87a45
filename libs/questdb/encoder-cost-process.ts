/**
 * A process of the bench. It answers each message of batches with what it costs to make lines of them once their series are known, with nothing
 * sent: by our encoder, and by QuestDB's client a row at a time. CPU of this process, seconds for a million rows.
 */
import { Sender } from '@questdb/nodejs-client';
import type { PointBatch } from '#model';
import { Lines } from './lines.js';
import { SeriesNames } from './series-names.js';

const rowsPerBody = 50_000;

async function cost(work: () => Promise<number>): Promise<number> {
  await work();
  const before = process.cpuUsage();
  const rows = await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / rows;
}

function encode(batches: readonly PointBatch[], names: SeriesNames): number {
  const table = Buffer.from('points_g1');
  const lines = new Lines();
  let rows = 0;
  for (const { orgId, sourceId, series } of batches) {
    const source = names.source(orgId, sourceId);
    for (const run of series) {
      const { symbols } = names.tagSet(source.get(run.metric) ?? names.make(source, orgId, sourceId, run.metric), run.tags);
      lines.points(table, symbols, run);
    }
    if (lines.rows < rowsPerBody) continue;
    rows += lines.rows;
    lines.clear();
  }
  return rows + lines.rows;
}

async function encodeWithClient(batches: readonly PointBatch[]): Promise<number> {
  const sender = await Sender.fromConfig('http::addr=127.0.0.1:1;stdlib_http=on;auto_flush=off;protocol_version=2');
  let rows = 0;
  let waiting = 0;
  for (const { orgId, sourceId, series } of batches) {
    for (const { metric, timestampMs, value } of series) {
      for (let at = 0; at < value.length; at++, waiting++) {
        sender.table('points_g1').symbol('org', orgId).symbol('source', sourceId).symbol('metric', metric).floatColumn('value', value[at]!);
        await sender.at(timestampMs[at]!, 'ms');
      }
    }
    if (waiting < rowsPerBody) continue;
    rows += waiting;
    waiting = 0;
    sender.reset();
  }
  return rows + waiting;
}

async function answer(batches: readonly PointBatch[]): Promise<void> {
  const names = new SeriesNames(true);
  const ours = await cost(() => Promise.resolve(encode(batches, names)));
  process.send!({ ours, client: await cost(() => encodeWithClient(batches)) });
}

process.on('message', (batches: readonly PointBatch[]) => void answer(batches));

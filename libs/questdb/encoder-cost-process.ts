/** A process of the bench: answers each message of batches with what it costs to encode them. */
import { Sender } from '@questdb/nodejs-client';
import type { PointBatch } from '#model';
import { Lines } from './lines.js';
import { SeriesNames } from './series-names.js';

const rowsPerBody = 50_000;

/** CPU of this process, seconds for a million rows. */
interface EncoderCost {
  readonly ours: number;
  readonly client: number;
}

/** What it costs to make lines of these batches once their series are known, with nothing sent: by our encoder, and by QuestDB's client a row at a time. */
async function encoderCost(batches: readonly PointBatch[]): Promise<EncoderCost> {
  const names = new SeriesNames(true);
  return { ours: await cost(() => Promise.resolve(encode(batches, names))), client: await cost(() => encodeWithClient(batches)) };
}

async function cost(work: () => Promise<number>): Promise<number> {
  await work();
  const before = process.cpuUsage();
  const rows = await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / rows;
}

function encode(batches: readonly PointBatch[], names: SeriesNames): number {
  const table = Buffer.from('points_g1');
  const lines = new Lines(1 << 16);
  let rows = 0;
  for (const { orgId, sourceId, series } of batches) {
    const source = names.source(orgId, sourceId);
    for (const { metric, tags, timestampMs, value } of series) {
      const { symbols } = names.tagSet(source.get(metric) ?? names.make(source, orgId, sourceId, metric), tags);
      for (let at = 0; at < value.length; at++) lines.point(table, symbols, value[at]!, timestampMs[at]!);
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

process.on('message', (batches: readonly PointBatch[]) => void encoderCost(batches).then((costs) => process.send!(costs)));

import { randomBytes } from 'node:crypto';
import { partitionOf, type RecordLog } from '#log';
import type { PointBatch } from '#model';
import { points } from '#topics';

/** A record that no processor can use. */
export interface Poison {
  readonly key: string;
  /** Raw bytes, or a batch of points that breaks a rule. */
  readonly content: Uint8Array | PointBatch;
  /** What an operator is told. */
  readonly reason: string;
}

const partition = (key: string): number => partitionOf(Buffer.from(key), points.partitions);

/** One of each kind, all in the partition of a source. */
export function poisonsBeside(orgId: string, sourceId: string): readonly Poison[] {
  const own = points.key({ orgId, sourceId, receivedMs: 0, series: [] });
  const elsewhere = Array.from({ length: 1000 }, (_, n) => `${orgId}/${sourceId}-${n}`).find((key) => partition(key) === partition(own))!;
  const batch = (value: number): PointBatch => {
    const run = { metric: 'poison', tags: '', timestampMs: Float64Array.of(Date.now()), value: Float64Array.of(value) };
    return { orgId, sourceId, receivedMs: Date.now(), series: [run] };
  };
  return [
    {
      key: own,
      content: Buffer.concat([Buffer.from([7]), randomBytes(100)]),
      reason: 'the record does not begin with 0x00 and a schema id',
    },
    { key: own, content: Buffer.from([0, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3]), reason: 'the registry has no schema with id 2147483647' },
    { key: elsewhere, content: batch(1), reason: 'the record stands under another key than its own' },
    { key: own, content: batch(Number.NaN), reason: 'a value is not finite' },
  ];
}

export async function appendPoison(log: RecordLog, { key, content }: Poison): Promise<void> {
  if (content instanceof Uint8Array) await log.appendBytes(points.name, key, content, {});
  else await log.append([{ topic: points, key, value: content }]);
}

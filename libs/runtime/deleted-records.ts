import { partitionOf } from '#log';
import { OperatorError } from '#model';
import type { Difference } from '#stores';
import { events, groupsPerGeneration, points, sourceKey } from '#topics';
import type { Adapters, Kafka } from './adapters.js';

/** Kafka has deleted records that a new generation would lack, or deleted them before the generation had read them. */
export class RecordsDeleted extends OperatorError {}

/** Of each projected topic, the offset with which each partition begins. Above 0 Kafka has deleted the records before it. */
type LogStart = ReadonlyMap<string, readonly number[]>;

export async function logStart({ groups }: Kafka): Promise<LogStart> {
  const names = new Set(groupsPerGeneration.flatMap(({ inputs }) => inputs.map(({ name }) => name)));
  const starts = Array.from(names, async (name) => {
    const [extents] = (await groups.ends([name])).values();
    return [name, extents!.map(({ low }) => low)] as const;
  });
  return new Map(await Promise.all(starts));
}

/** What is gone, per topic and in words; undefined when nothing is. */
export async function deletedInWords({ groups }: Kafka, start: LogStart): Promise<string | undefined> {
  const sentences = Array.from(start, async ([topic, lows]) => {
    const gone = [...lows.keys()].filter((partition) => lows[partition]! > 0);
    if (gone.length === 0) return [];
    const records = lows.reduce((sum, low) => sum + low, 0);
    const beforeMs = await groups.appendedBefore(topic, lows);
    const before = new Date(beforeMs).toISOString();
    return `${topic}: ${counted(records)} of ${gone.length} of its ${lows.length} partitions, appended before ${before}`;
  });
  const gone = (await Promise.all(sentences)).flat();
  return gone.length > 0 ? gone.join('; ') : undefined;
}

const counted = (records: number): string => `${records.toLocaleString('en')} ${records === 1 ? 'record' : 'records'}`;

/**
 * Whether deleted records may explain a difference between a generation that is made from the rest of the log (expected) and the live one
 * (found). They explain what only the live one has, and anything that sums records up. They never explain a row that the live one lacks, nor
 * another value of a point: the newest record of a point is deleted last.
 */
export function mayBeDeletion(start: LogStart, { what, orgId = '', sourceId = '', expected, found }: Difference): boolean {
  const topic = what === 'events' ? events : points;
  const lows = start.get(topic.name)!;
  if (lows[partitionOf(Buffer.from(sourceKey({ orgId, sourceId })), topic.partitions)] === 0) return false;
  if (found === 'nothing') return false;
  return what !== 'raw' || expected === 'nothing';
}

/** Sees whether Kafka deletes records before the groups of a generation have committed them. */
export class DeletionWatch {
  /** For each partition, the offset up to which records are in the generation, or were deleted before it was begun. */
  readonly #reached: Map<string, number[]>;

  constructor(start: LogStart) {
    this.#reached = new Map(Array.from(start, ([topic, lows]) => [topic, [...lows]]));
  }

  /** Notes what the groups have committed. */
  saw(topic: string, partition: number, offset: number): void {
    const reached = this.#reached.get(topic)!;
    reached[partition] = Math.max(reached[partition]!, offset);
  }

  /** Rejects RecordsDeleted when records are gone that the generation may not have got. */
  async check({ kafka }: Pick<Adapters, 'kafka'>): Promise<void> {
    const start = await logStart(kafka);
    for (const [topic, lows] of start) {
      const reached = this.#reached.get(topic)!;
      const overtaken = lows.reduce((sum, low, partition) => sum + Math.max(0, low - reached[partition]!), 0);
      if (overtaken > 0)
        throw new RecordsDeleted(
          `Kafka has deleted ${counted(overtaken)} of ${topic} before the new projections had them: readers stay where ` +
            'they are. Keep records for longer (retention.ms, retention.bytes) until this command has ended, and run it again.',
        );
    }
  }
}

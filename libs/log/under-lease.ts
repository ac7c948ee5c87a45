import type { Lease } from '#model';
import type { Table } from './table.js';
import type { AnyTopic, Position, StreamRecord } from './topic.js';

interface Processed extends Position {
  /** When the last record before it was appended; undefined of one that could not be decoded. */
  readonly appendedMs: number | undefined;
}

type RecordPlace = Pick<StreamRecord, 'topic' | 'partition' | 'offset'>;

/** A record; of one that could not be decoded it is not known when it was appended. */
type Came = RecordPlace & { readonly appendedMs?: number };

export const partitionName = ({ topic, partition }: RecordPlace): string => `${topic.name}/${partition}`;
export const placeName = (place: RecordPlace): string => `${partitionName(place)} at offset ${place.offset}`;

/** What a runner knows under one lease and forgets with it: what was processed or parked and is not committed yet, and whether the table is read. */
export class UnderLease {
  /** Where each partition goes on, by its name. */
  readonly #positions = new Map<string, Processed>();
  readonly #parked = new Map<string, RecordPlace>();
  /** When the oldest record of a partition was appended that came and is not committed, or an older one. */
  readonly #oldestMs = new Map<string, number>();
  #opening: Promise<void> | undefined;
  #isOpen = false;

  constructor(
    readonly lease: Lease,
    readonly partitions: readonly number[],
  ) {}

  positions(): readonly Processed[] {
    return [...this.#positions.values()];
  }

  /** @param first of the records that came together. */
  came(first: StreamRecord): void {
    const partition = partitionName(first);
    if (!this.#oldestMs.has(partition)) this.#oldestMs.set(partition, first.appendedMs);
  }

  /** When the oldest record was appended that came and is not committed, or an older one; undefined when none is known. */
  oldestMs(topic: string, partition: number): number | undefined {
    return this.#oldestMs.get(`${topic}/${partition}`);
  }

  /** @param records that came together, in the order of their offsets. */
  processed(records: readonly Came[]): void {
    const [first] = records as [Came];
    if (records.length === 1) return this.#processedTo(first, first);
    // By topic and partition.
    const lasts = new Map<AnyTopic, (Came | undefined)[]>();
    for (const record of records) {
      let ofTopic = lasts.get(record.topic);
      if (!ofTopic) lasts.set(record.topic, (ofTopic = []));
      ofTopic[record.partition] = record;
    }
    for (const last of [...lasts.values()].flat()) if (last) this.#processedTo(last, first);
  }

  #processedTo(last: Came, first: Came): void {
    const { topic, partition, offset, appendedMs } = last;
    const name = partitionName(last);
    this.#positions.set(name, { topic: topic.name, partition, offset: offset + 1, appendedMs });
    if (first.appendedMs !== undefined && !this.#oldestMs.has(name)) this.#oldestMs.set(name, first.appendedMs);
  }

  parked(place: RecordPlace): void {
    this.#parked.set(placeName(place), place);
  }

  /** Those of these records that were not parked before. */
  unparked<P extends RecordPlace>(records: readonly P[]): readonly P[] {
    return this.#parked.size === 0 ? records : records.filter((record) => !this.#parked.has(placeName(record)));
  }

  /** @param positions as `positions` gave them. */
  committed(positions: readonly Processed[]): void {
    for (const position of positions) {
      const partition = `${position.topic}/${position.partition}`;
      if (this.#positions.get(partition) === position) {
        this.#positions.delete(partition);
        this.#oldestMs.delete(partition);
      } else if (position.appendedMs !== undefined) this.#oldestMs.set(partition, position.appendedMs);
      for (const [name, place] of this.#parked) {
        if (partitionName(place) === partition && place.offset < position.offset) this.#parked.delete(name);
      }
    }
  }

  /** What was processed comes again to whoever has the partitions then. */
  forget(): void {
    this.#positions.clear();
    this.#parked.clear();
    this.#oldestMs.clear();
  }

  /** Resolves when the table knows the partitions; after a failure the next call reads it again. @param end rejects when nobody waits any more. */
  async open(table: Table<unknown> | undefined, end: Promise<never>): Promise<void> {
    if (!table || this.#isOpen) return;
    this.#opening ??= table.begin(this.lease, this.partitions).catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    await Promise.race([this.#opening, end]);
    this.#isOpen = true;
  }
}

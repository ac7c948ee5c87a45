import type { Lease } from '#model';
import type { ReactorState } from './processor.js';
import type { Position, StreamRecord } from './topic.js';

interface Processed extends Position {
  /** When the last record before it was appended; undefined of one that could not be decoded. */
  readonly appendedMs: number | undefined;
}

/** What came of one partition and is not committed. */
interface Uncommitted {
  /** Where it goes on; undefined while nothing is processed. */
  next: number | undefined;
  appendedMs: number | undefined;
  /** When the oldest record was appended, or an older one; undefined when none is known. */
  oldestMs: number | undefined;
}

type RecordPlace = Pick<StreamRecord, 'topic' | 'partition' | 'offset'>;

/** A record; of one that could not be decoded it is not known when it was appended. */
type Came = RecordPlace & { readonly appendedMs?: number };

export const partitionName = ({ topic, partition }: RecordPlace): string => `${topic.name}/${partition}`;
export const placeName = (place: RecordPlace): string => `${partitionName(place)} at offset ${place.offset}`;

/** What a runner knows under one lease and forgets with it: what was processed or parked and is not committed yet, and whether the table is read. */
export class UnderLease {
  /** By topic and partition. */
  readonly #uncommitted = new Map<string, (Uncommitted | undefined)[]>();
  readonly #parked = new Map<string, RecordPlace>();
  #opening: Promise<void> | undefined;
  #isOpen = false;

  constructor(
    readonly lease: Lease,
    readonly partitions: readonly number[],
  ) {}

  positions(): readonly Processed[] {
    return [...this.#uncommitted].flatMap(([topic, its]) =>
      its.flatMap((one, partition) =>
        one?.next === undefined ? [] : [{ topic, partition, offset: one.next, appendedMs: one.appendedMs }],
      ),
    );
  }

  /** @param first of the records that came together. */
  came(first: StreamRecord): void {
    this.#of(first).oldestMs ??= first.appendedMs;
  }

  /** When the oldest record was appended that came and is not committed, or an older one; undefined when none is known. */
  oldestMs(topic: string, partition: number): number | undefined {
    return this.#uncommitted.get(topic)?.[partition]?.oldestMs;
  }

  /** @param records that came together, in the order of their offsets. */
  processed(records: readonly Came[]): void {
    const firstMs = records[0]!.appendedMs;
    for (const record of records) {
      const one = this.#of(record);
      one.next = record.offset + 1;
      one.appendedMs = record.appendedMs;
      one.oldestMs ??= firstMs;
    }
  }

  #of({ topic, partition }: RecordPlace): Uncommitted {
    let its = this.#uncommitted.get(topic.name);
    if (!its) this.#uncommitted.set(topic.name, (its = []));
    return (its[partition] ??= { next: undefined, appendedMs: undefined, oldestMs: undefined });
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
    for (const { topic, partition, offset, appendedMs } of positions) {
      const one = this.#uncommitted.get(topic)?.[partition];
      if (one?.next === offset) this.#uncommitted.get(topic)![partition] = undefined;
      else if (one && appendedMs !== undefined) one.oldestMs = appendedMs;
      for (const [name, place] of this.#parked) {
        if (place.topic.name === topic && place.partition === partition && place.offset < offset) this.#parked.delete(name);
      }
    }
  }

  /** What was processed comes again to whoever has the partitions then. */
  forget(): void {
    this.#uncommitted.clear();
    this.#parked.clear();
  }

  /**
   * Resolves when the table knows the partitions, and is undefined where it does; after a failure the next call reads it again.
   *
   * @param end rejects when nobody waits any more.
   */
  open(table: ReactorState | undefined, end: Promise<never>): Promise<void> | undefined {
    return !table || this.#isOpen ? undefined : this.#open(table, end);
  }

  async #open(table: ReactorState, end: Promise<never>): Promise<void> {
    this.#opening ??= table.begin(this.lease, this.partitions).catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    await Promise.race([this.#opening, end]);
    this.#isOpen = true;
  }
}

import type { Lease } from '#model';
import type { Table } from './table.js';
import type { Position, StreamRecord } from './topic.js';

type Place = Pick<StreamRecord, 'topic' | 'partition' | 'offset'>;

const partitionName = ({ topic, partition }: Place): string => `${topic.name}/${partition}`;
export const placeName = (place: Place): string => `${partitionName(place)} at offset ${place.offset}`;

/** What a runner knows under one lease and forgets with it: what was processed or parked and is not committed yet, and whether the table is read. */
export class UnderLease {
  /** Where each partition goes on, by its name. */
  readonly #positions = new Map<string, Position>();
  readonly #parked = new Map<string, Place>();
  #opening: Promise<void> | undefined;
  #isOpen = false;

  constructor(
    readonly lease: Lease,
    readonly partitions: readonly number[],
  ) {}

  positions(): Position[] {
    return [...this.#positions.values()];
  }

  processed(place: Place): void {
    const { topic, partition, offset } = place;
    this.#positions.set(partitionName(place), { topic: topic.name, partition, offset: offset + 1 });
  }

  parked(place: Place): void {
    this.#parked.set(placeName(place), place);
  }

  /** Those of these records that were not parked before. */
  unparked<P extends Place>(records: readonly P[]): readonly P[] {
    return this.#parked.size === 0 ? records : records.filter((record) => !this.#parked.has(placeName(record)));
  }

  /** @param positions as `positions` gave them. */
  committed(positions: readonly Position[]): void {
    for (const position of positions) {
      const partition = `${position.topic}/${position.partition}`;
      if (this.#positions.get(partition) === position) this.#positions.delete(partition);
      for (const [name, place] of this.#parked) {
        if (partitionName(place) === partition && place.offset < position.offset) this.#parked.delete(name);
      }
    }
  }

  /** What was processed comes again to whoever has the partitions then. */
  forget(): void {
    this.#positions.clear();
    this.#parked.clear();
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

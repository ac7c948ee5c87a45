import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { AnyTopic } from '#log';
import { rowChecksum } from '../checksum.js';

/** Partition number of a row that holds for every partition of its topic: in none of them does the group read anything before its offset. */
export const everyPartition = -1;

/** Where a group goes on. */
export interface GroupPosition {
  readonly group: string;
  readonly topic: string;
  readonly partition: number;
  readonly next: number;
}

/** The offset that each partition of a topic goes on with. */
export function nextOffsets(saved: readonly GroupPosition[], { name, partitions }: AnyTopic): number[] {
  const at = (partition: number): number => saved.find((it) => it.topic === name && it.partition === partition)?.next ?? 0;
  const floor = at(everyPartition);
  return Array.from({ length: partitions }, (_, partition) => Math.max(floor, at(partition)));
}

/** The offset of the first record of a topic that a group may still need. */
export const nextOffset = (saved: readonly GroupPosition[], topic: AnyTopic): number => Math.min(...nextOffsets(saved, topic));

/** Keeps the offsets that some consumer groups have committed. */
export interface Keeper {
  of(group: string): Promise<readonly GroupPosition[]>;
  /** Never moves one back. */
  move(positions: readonly GroupPosition[]): Promise<void>;
  /** Makes what was moved survive a power cut, where `move` does not. */
  readonly settle?: () => Promise<void>;
}

/** The offsets that consumer groups have committed, in a table. A commit never moves one back. */
export class Positions {
  readonly #move: StatementSync;
  readonly #of: StatementSync;
  readonly #names: StatementSync;

  /** @param damaged makes the error for a row that is not as it was written. */
  constructor(
    db: DatabaseSync,
    private readonly damaged: (place: string) => Error,
  ) {
    db.exec(
      'CREATE TABLE IF NOT EXISTS position(grp TEXT, topic TEXT, part INT, next INT, crc INT, PRIMARY KEY(grp, topic, part)) WITHOUT ROWID',
    );
    this.#move = db.prepare(`
      INSERT INTO position(grp, topic, part, next, crc) VALUES(?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET next = excluded.next, crc = excluded.crc WHERE excluded.next > next`);
    this.#of = db.prepare('SELECT topic, part AS partition, next, crc FROM position WHERE grp = ?');
    this.#names = db.prepare('SELECT DISTINCT grp AS name FROM position ORDER BY grp');
  }

  move(positions: readonly GroupPosition[]): void {
    for (const it of positions) this.#move.run(it.group, it.topic, it.partition, it.next, checksum(it));
  }

  names(): readonly string[] {
    return (this.#names.all() as unknown as { readonly name: string }[]).map(({ name }) => name);
  }

  of(group: string): readonly GroupPosition[] {
    const rows = this.#of.all(group) as unknown as (GroupPosition & { crc: number })[];
    return rows.map(({ topic, partition, next, crc }) => {
      const position = { group, topic, partition, next };
      if (crc === checksum(position)) return position;
      throw this.damaged(`the offset of group ${group} in ${topic}/${partition} fails its checksum`);
    });
  }
}

function checksum({ group, topic, partition, next }: GroupPosition): number {
  return rowChecksum(`${group} ${topic}`, partition, next);
}

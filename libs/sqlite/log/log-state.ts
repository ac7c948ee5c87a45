import { isDeadLetters } from '#log';
import type { Epoch } from './epochs.js';
import { everyPartition, type GroupPosition } from './positions.js';

/** What a commit changes besides appending records. */
export interface Change {
  readonly epochs?: readonly Epoch[];
  /** Offsets that groups have committed; none moves one back. */
  readonly positions?: readonly GroupPosition[];
  /** Groups that are moved back to an offset, in no partition forward. */
  readonly rewound?: readonly { readonly group: string; readonly to: number }[];
  /** Offset at which the log begins: files with nothing but records before it may be gone. It never moves back. */
  readonly begins?: number;
}

/**
 * What a log remembers besides its records: the epochs of its history, the positions of all groups but those that a store keeps, and where it
 * begins. Two logs that share the epoch of a record are the same log up to that record.
 */
export class LogState {
  readonly #epochs: Epoch[] = [];
  readonly #positions = new Map<string, Map<string, GroupPosition>>();
  #begins = 0;

  /** Offset at which the log begins; above 0 once records were dropped. */
  get begins(): number {
    return this.#begins;
  }

  /** Oldest first. */
  get epochs(): readonly Epoch[] {
    return this.#epochs;
  }

  apply({ epochs = [], positions = [], rewound = [], begins = 0 }: Change): void {
    this.#epochs.push(...epochs);
    for (const position of positions) this.#move(position);
    for (const { group, to } of rewound) this.#rewind(group, to);
    this.#begins = Math.max(this.#begins, begins);
  }

  /** The change that makes this state of an empty one. */
  whole(): Change {
    const positions = [...this.#positions.values()].flatMap((its) => [...its.values()]);
    return { epochs: this.#epochs, positions, ...(this.#begins > 0 && { begins: this.#begins }) };
  }

  /** The names of all groups. */
  groups(): readonly string[] {
    return [...this.#positions.keys()];
  }

  positions(group: string): readonly GroupPosition[] {
    return [...(this.#positions.get(group)?.values() ?? [])];
  }

  #move(position: GroupPosition): void {
    let its = this.#positions.get(position.group);
    if (!its) this.#positions.set(position.group, (its = new Map()));
    const name = nameOf(position);
    if (position.next > (its.get(name)?.next ?? -1)) its.set(name, position);
  }

  #rewind(group: string, to: number): void {
    const its = this.#positions.get(group) ?? new Map<string, GroupPosition>();
    for (const it of this.positions(group).filter(({ next }) => next > to)) {
      // In a topic of dead letters every other position notes a single letter that was sent back, and is only deleted.
      if (it.partition === everyPartition || !isDeadLetters(it.topic)) its.set(nameOf(it), { ...it, next: to });
      else its.delete(nameOf(it));
    }
  }
}

const nameOf = ({ topic, partition }: GroupPosition): string => `${partition} ${topic}`;

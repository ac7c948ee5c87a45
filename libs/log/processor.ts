import type { Lease } from '#model';
import type { AnyTopic, StreamRecord, Topic } from './topic.js';

/** A consumer group as data: what it reads and writes, and what may be done with it. Its `Processor` is the code. */
export interface Group {
  /** In Kafka the group id, behind the prefix. */
  readonly name: string;
  /** Partition n of all of them is with one member. */
  readonly inputs: readonly AnyTopic[];
  /** The topics that it appends to. */
  readonly outputs: readonly AnyTopic[];
  /**
   * A projector has no effect but its store: rebuild and verify may run it at any time. A reactor appends to the log or speaks to the world:
   * rebuild and verify never run it.
   */
  readonly kind: 'projector' | 'reactor';
  /** The role whose processes run it. */
  readonly role: string;
  /** Where it begins in a partition of which it has committed nothing. */
  readonly from: 'beginning' | 'end';
  /**
   * Whether an operator may move it back. Not where its effects must not happen twice, such as messages to people, nor where its inputs do not
   * say all that its compacted outputs hold: a replay of a data folder from the beginning ends these and makes them anew.
   */
  readonly mayReplay: boolean;
  /** Whether each generation of the stores has such a group of its own. */
  readonly perGeneration: boolean;
}

/** The group of one generation. @param suffix of that generation, for example `.g2`; empty where there is one generation for good. */
export const ofGeneration = (group: Group, suffix: string): Group => ({ ...group, name: group.name + suffix });

/** Resolves when the next batch of these partitions may come. What it holds of a lost lease it drops instead of making an effect of it. */
export type Take<V> = (records: readonly StreamRecord<V>[], lease: Lease) => Promise<void>;

/** One input of a processor: see `on`. */
export interface Input {
  readonly topic: AnyTopic;
  readonly take: Take<unknown>;
}

/** Says what becomes of the records of a topic. */
export const on = <V>(topic: Topic<V>, take: Take<V>): Input => ({ topic, take: take as Take<unknown> });

/** The state of a reactor, as its runner reads and writes it: a `Table`. */
export interface ReactorState {
  /**
   * Before anything else under a lease: reads the partitions, and appends the outputs that their records hold. Rejects when the log cannot be
   * read or written; then it is to be called again. What was known under an earlier lease is dropped, for others may have written since.
   */
  begin(lease: Lease, partitions: readonly number[]): Promise<void>;
  /** Before and after each batch and tick: writes what is not to wait. So outputs of one piece of work at most are held. */
  settle(): Promise<void> | undefined;
  /** Resolves when every change before the call and its outputs are in the log. Does nothing once the lease is lost. */
  write(): Promise<void>;
}

/** The work of a consumer group. Its effects are idempotent: a record may come twice. What it holds in memory is bounded. */
export interface Processor {
  readonly group: Group;
  /** One for each input of the group. */
  readonly inputs: readonly Input[];
  readonly table?: ReactorState;
  /**
   * What happens because nothing came: called about once a second, never together with an input's `take`, and only under a lease that is
   * held. What it holds of a lost lease it drops.
   *
   * @param nowMs Unix milliseconds.
   * @param caughtUpMs everything that was in the log at this time, in Unix milliseconds, is processed; undefined until something is known
   * under this lease. A few seconds ago at most while the group keeps up: who judges that nothing came judges as of this time.
   */
  tick?(nowMs: number, lease: Lease, caughtUpMs: number | undefined): Promise<void> | void;
  /** Resolves when the effects of everything processed before the call are durable and visible; the table takes care of its own. */
  checkpoint?(): Promise<void>;
}

/** Gives each input of a processor its records among `records`, one input after the other. Other records are left out. */
export async function deliver({ inputs }: Processor, records: readonly StreamRecord[], lease: Lease): Promise<void> {
  for (const { topic, take } of inputs) {
    const isOurs = (record: StreamRecord): boolean => record.topic.name === topic.name;
    // A batch of one topic, which nearly all are, is handed on as it is.
    const its = records.every(isOurs) ? records : records.filter(isOurs);
    if (its.length > 0) await take(its, lease);
    if (its === records) return;
  }
}

import type { Lease } from '#model';
import type { ReactorState } from './processor.js';
import type { RecordLog } from './record-log.js';
import { TableState, type TableOptions } from './table-state.js';
import type { Entry, Topic } from './topic.js';

export { maxAppended, maxHeldBytes, maxKeys } from './table-state.js';

/**
 * The state of a reactor: a compacted topic with the keys and the partitions of the reactor's inputs. All keys of the partitions that a member
 * has are in its memory, and those of all partitions in the memory of a view of the topic. So a partition that has its share of `maxKeys` takes
 * no new key: the record that wants one is parked, and records of known keys go on. Keys that are in the log when the table is read are all kept.
 *
 * An output, such as an alert, may depend on a clock or on a view, so that it would be another one if it were decided again after a crash.
 * It is therefore durable before anybody sees it: the record of the key holds its outputs in a header, and only when that record is in the log
 * are they appended to their topics. A later record of the key, without the header, says that they are there. Whoever gets the partition next
 * appends what a record still holds, so that after a crash an output may come twice, always as it was decided.
 *
 * What a batch says of a key it may say again after a crash: the state has to show what is done already.
 */
export class Table<V> implements ReactorState {
  #state: TableState<V> | undefined;
  #beginning: TableState<V> | undefined;

  constructor(
    private readonly log: RecordLog,
    private readonly topic: Topic<V>,
    private readonly options: TableOptions<V> = {},
  ) {}

  get(key: string): V | undefined {
    return this.#current.values.get(key);
  }

  /** All keys and their values; what is changed meanwhile may come or not. */
  entries(): Iterable<readonly [key: string, value: V]> {
    return this.#current.values;
  }

  /** Whether the key is in one of the partitions that the table knows. */
  owns(key: string): boolean {
    return this.#current.owns(key);
  }

  /** Whether one record can hold these outputs together with those of earlier changes of the key that are not written yet. */
  hasRoom(key: string, outputs: readonly Entry[]): boolean {
    return this.#current.hasRoom(key, outputs);
  }

  /**
   * Changes a key; `get` shows it at once. With `copied` the value may be the one that the key has, changed in place. A key that begins or ends, and
   * one with outputs, is written when the batch or the tick has ended; another change five seconds later or at a checkpoint, whichever comes first,
   * with all changes of the key until then.
   *
   * @param value null ends the key; then there are no outputs, nor any of an earlier change that are not written yet.
   * @param outputs follow the record into the log, topic by topic: topics in the order of their first output, and outputs of one topic in this order.
   * @throws RangeError when the key is new and its partition has its share of `maxKeys`, or when the outputs of the key that are not written
   * yet are too large for one record.
   */
  set(key: string, value: V | null, outputs: readonly Entry[] = []): void {
    this.#current.set(key, value, outputs);
  }

  /** @param goesOn of `Lease.during`, for what an effect in flight has to write before others get the partitions. */
  write(goesOn?: () => boolean): Promise<void> {
    return this.#state?.write(Infinity, goesOn) ?? Promise.resolve();
  }

  settle(): Promise<void> | undefined {
    const state = this.#current;
    return state.isUrgent ? state.write(performance.now()) : undefined;
  }

  async begin(lease: Lease, partitions: readonly number[]): Promise<void> {
    const state = (this.#beginning = new TableState(this.log, this.topic, this.options, lease));
    this.#state = undefined;
    await state.read(partitions);
    if (this.#beginning === state) this.#state = state;
  }

  get #current(): TableState<V> {
    if (!this.#state) throw new Error(`the table of ${this.topic.name} is not read yet`);
    return this.#state;
  }
}

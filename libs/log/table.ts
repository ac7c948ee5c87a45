import { during, type Lease } from '#model';
import { partitionOf } from './partition.js';
import { readLog } from './read-log.js';
import type { RecordLog } from './record-log.js';
import { entry, tombstone, type AnyTopic, type Entry, type StreamRecord, type Topic, type Unreadable } from './topic.js';

/** How long a change of a known key without outputs waits: so a key that changes all the time is written once in this time. */
const writePauseMs = 5_000;
/** Keys that are due within so much time of each other are written together. */
const togetherMs = 250;
/** Records of one append: to encode them holds the loop for a few milliseconds. */
export const maxAppended = 2_000;
/** The header of a record that holds outputs, and how many bytes it may take: the embedded log takes 65,535 of all headers. */
const heldHeader = 'outputs';
export const maxHeldBytes = 60_000;

/** Keys of a table in all partitions together. Each partition may have its share of them. */
export const maxKeys = 1_000_000;

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
export class Table<V> {
  #state: State<V> | undefined;
  #beginning: State<V> | undefined;

  /** @param outputs the topics that tombstones among the outputs go to. */
  constructor(
    private readonly log: RecordLog,
    private readonly topic: Topic<V>,
    private readonly outputs: readonly AnyTopic[] = [],
  ) {}

  get(key: string): V | undefined {
    return this.#current.values.get(key);
  }

  /**
   * Changes a key; `get` shows it at once. A new key, and one with outputs, is written when the batch or the tick has ended; another change
   * five seconds later or at a checkpoint, whichever comes first, with all changes of the key until then.
   *
   * @param value null ends the key; then there are no outputs, nor any of an earlier change that are not written yet.
   * @param outputs follow the record into the log, in this order.
   * @throws RangeError when the key is new and its partition has its share of `maxKeys`, or when the outputs of the key that are not written
   * yet are too large for one record.
   */
  set(key: string, value: V | null, outputs: readonly Entry[] = []): void {
    this.#current.set(key, value, outputs);
  }

  /** Resolves when every change before the call and its outputs are in the log. Does nothing once the lease is lost. */
  write(): Promise<void> {
    return this.#state?.write(Infinity) ?? Promise.resolve();
  }

  /** For the runner, before and after each batch and tick: writes what is not to wait. So outputs of one piece of work at most are held. */
  settle(): Promise<void> | undefined {
    const state = this.#current;
    return state.isUrgent ? state.write(performance.now()) : undefined;
  }

  /**
   * For the runner, before anything else under a lease: reads the partitions, and appends the outputs that their records hold. Rejects when the
   * log cannot be read or written; then it is to be called again. What was known under an earlier lease is dropped, for others may have
   * written since.
   */
  async begin(lease: Lease, partitions: readonly number[]): Promise<void> {
    const state = (this.#beginning = new State(this.log, this.topic, this.outputs, lease));
    this.#state = undefined;
    await state.read(partitions);
    if (this.#beginning === state) this.#state = state;
  }

  get #current(): State<V> {
    if (!this.#state) throw new Error(`the table of ${this.topic.name} is not read yet`);
    return this.#state;
  }
}

/** What a table knows and holds under one lease: all of it goes with the lease. */
class State<V> {
  readonly values = new Map<string, V>();
  /** Keys of each partition. */
  readonly #sizes = new Map<number, number>();
  /** Changed keys that are written without delay. */
  readonly #urgent = new Set<string>();
  /**
   * When the other changed keys are to be written, earliest first: milliseconds of `performance.now()`. At most the keys of
   * `values`, and those that were ended less than `writePauseMs` ago.
   */
  readonly #dueMs = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  /** Outputs that no record in the log holds yet, in their order. */
  readonly #outputs = new Map<string, readonly Output[]>();
  /** Outputs that records in the log hold and that are not appended to their topics yet, by the key of the record. */
  readonly #held = new Map<string, readonly Output[]>();
  #lastWrite: Promise<void> = Promise.resolve();

  constructor(
    private readonly log: RecordLog,
    private readonly topic: Topic<V>,
    private readonly outputs: readonly AnyTopic[],
    private readonly lease: Lease,
  ) {}

  get isUrgent(): boolean {
    return this.#urgent.size > 0 || this.#held.size > 0;
  }

  set(key: string, value: V | null, entries: readonly Entry[]): void {
    const isNew = value !== null && !this.values.has(key);
    if (isNew) this.#checkRoom(key);
    const before = this.#outputs.get(key);
    if (before || entries.length > 0) {
      const outputs = [...(before ?? []), ...entries.map((one) => this.#output(one))];
      if (value === null || Buffer.byteLength(JSON.stringify(held(outputs))) > maxHeldBytes)
        throw new RangeError(`a record of ${this.topic.name} holds at most ${maxHeldBytes} bytes of outputs, and a tombstone none`);
      this.#outputs.set(key, outputs);
    }
    this.#put(key, value);
    this.#changed(key, isNew || this.#outputs.has(key));
  }

  /**
   * Writes what is urgent and what is due by this time. One write at a time, so that of two records of a key the newer is the later in the
   * log.
   */
  write(untilMs: number): Promise<void> {
    const written = this.#lastWrite.then(() => this.#write(untilMs));
    this.#lastWrite = written.catch(() => {});
    return written;
  }

  async read(partitions: readonly number[]): Promise<void> {
    await readLog(this.log, {
      topics: [this.topic],
      partitions,
      from: 'beginning',
      take: (records) => {
        for (const record of records) this.#take(record);
      },
      unreadable: (record) => this.#refuse(record),
    });
    await this.#send();
  }

  #changed(key: string, isUrgent: boolean): void {
    if (isUrgent) {
      this.#dueMs.delete(key);
      this.#urgent.add(key);
      return;
    }
    if (!this.#urgent.has(key) && !this.#dueMs.has(key)) this.#dueMs.set(key, performance.now() + writePauseMs);
    this.#writeLater();
  }

  #writeLater(): void {
    if (this.#timer || this.#dueMs.size === 0 || !this.lease.held()) return;
    const dueMs = this.#dueMs.values().next().value!;
    this.#timer = setTimeout(() => void this.#writeDue(), Math.max(togetherMs, dueMs - performance.now())).unref();
  }

  async #writeDue(): Promise<void> {
    // What fails is tried again with the next change, and a checkpoint tells of it.
    const isDone = await this.write(performance.now()).then(
      () => true,
      () => false,
    );
    this.#timer = undefined;
    if (isDone) this.#writeLater();
  }

  async #write(untilMs: number): Promise<void> {
    if (!this.lease.held()) return;
    await this.#send();
    const keys = [...this.#urgent, ...this.#due(untilMs)];
    for (let from = 0; from < keys.length && this.lease.held(); from += maxAppended) {
      await this.#writeKeys(keys.slice(from, from + maxAppended));
    }
  }

  *#due(untilMs: number): Generator<string> {
    for (const [key, dueMs] of this.#dueMs) {
      if (dueMs > untilMs) return;
      yield key;
    }
  }

  async #writeKeys(keys: readonly string[]): Promise<void> {
    const urgent = new Set(keys.filter((key) => this.#urgent.delete(key)));
    const outputs = new Map(keys.map((key) => [key, this.#outputs.get(key)]));
    for (const key of keys) this.#dueMs.delete(key);
    try {
      await during(this.lease, () => this.log.append(keys.map((key) => this.#record(key, outputs.get(key)))));
    } catch (error) {
      for (const key of keys) this.#changed(key, urgent.has(key));
      throw error;
    }
    for (const [key, its] of outputs) {
      if (!its) continue;
      this.#held.set(key, its);
      const later = this.#outputs.get(key)!.slice(its.length);
      if (later.length > 0) this.#outputs.set(key, later);
      else this.#outputs.delete(key);
    }
    await this.#send();
  }

  /** Appends the held outputs to their topics. The keys are written again, which says so; until then a crash appends them once more. */
  async #send(): Promise<void> {
    if (this.#held.size === 0) return;
    await during(this.lease, async (goesOn) => {
      const each = Array.from(this.#held, async ([key, outputs]) => {
        for (const output of outputs) if (goesOn()) await this.#append(output);
        if (!goesOn()) return;
        this.#held.delete(key);
        this.#changed(key, false);
      });
      // None is under way any more when others may get the partitions.
      await Promise.allSettled(each);
      await Promise.all(each);
    });
  }

  #record(key: string, outputs: readonly Output[] | undefined): Entry {
    const value = this.values.get(key);
    if (value === undefined) return tombstone(this.topic, key);
    return { ...entry(this.topic, value, outputs && { [heldHeader]: held(outputs) }), key };
  }

  #output({ topic, key, value, headers = {} }: Entry): Output {
    return { topic: topic.name, key, bytes: value === null ? null : this.log.encoded({ topic, value }), headers };
  }

  async #append({ topic: name, key, bytes, headers }: Output): Promise<void> {
    if (bytes) return this.log.appendBytes(name, key, bytes, headers);
    const topic = this.outputs.find((one) => one.name === name);
    if (!topic) throw new RangeError(`the table of ${this.topic.name} has no output ${name} to append a tombstone to`);
    await this.log.append([{ topic, key, value: null, headers }]);
  }

  /** @throws RangeError when the partition of a new key has no room for it. */
  #checkRoom(key: string): void {
    const { name, partitions } = this.topic;
    const partition = this.#partitionOf(key);
    const share = Math.ceil(maxKeys / partitions);
    if ((this.#sizes.get(partition) ?? 0) < share) return;
    throw new RangeError(
      `the table of ${name} is full: its partition ${partition} has ${share} keys and takes a new one only when another one ends`,
    );
  }

  #put(key: string, value: V | null): void {
    const before = this.values.size;
    if (value === null) this.values.delete(key);
    else this.values.set(key, value);
    const more = this.values.size - before;
    if (more === 0) return;
    const partition = this.#partitionOf(key);
    this.#sizes.set(partition, (this.#sizes.get(partition) ?? 0) + more);
  }

  #partitionOf(key: string): number {
    return partitionOf(Buffer.from(key), this.topic.partitions);
  }

  #take({ key, value, headers }: StreamRecord): void {
    this.#put(key, value as V | null);
    const text = headers[heldHeader];
    if (value !== null && text !== undefined) this.#held.set(key, unheld(text));
    else this.#held.delete(key);
  }

  /** As a view does: the topic says what becomes of the key. */
  #refuse({ key }: Unreadable): void {
    if (this.topic.unreadable === 'skipped') return;
    this.#put(key, null);
    this.#held.delete(key);
  }
}

/** A record to append, encoded when it was decided. */
interface Output {
  readonly topic: string;
  readonly key: string;
  /** Null is a tombstone. */
  readonly bytes: Uint8Array | null;
  readonly headers: Entry['headers'] & {};
}

const held = (outputs: readonly Output[]): string =>
  JSON.stringify(outputs.map(({ bytes, ...rest }) => ({ ...rest, bytes: bytes && Buffer.from(bytes).toString('base64') })));

const unheld = (text: string): readonly Output[] =>
  (JSON.parse(text) as readonly (Output & { bytes: string | null })[]).map((one) => ({
    ...one,
    bytes: one.bytes === null ? null : Buffer.from(one.bytes, 'base64'),
  }));

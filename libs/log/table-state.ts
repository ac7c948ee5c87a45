import { during, oneAtATime, type Lease } from '#model';
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

export interface TableOptions<V> {
  /** The topics that tombstones among the outputs go to. */
  readonly outputs?: readonly AnyTopic[];
  /** Makes one output of two that one record of the table holds for one topic. They stay two where it is left out or says nothing. */
  joined?(earlier: Entry, later: Entry): Entry | undefined;
  /** Copies a value, for a table whose owner changes values in place: the log and its readers keep the values that they are given. */
  copied?(value: V): V;
}

/** What a table knows and holds under one lease: all of it goes with the lease. */
export class TableState<V> {
  readonly values = new Map<string, V>();
  #partitions: ReadonlySet<number> = new Set();
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
  /** How many of them, the first ones of a key, are on their way into the log. */
  readonly #onTheirWay = new Map<string, number>();
  /** Outputs that records in the log hold and that are not appended to their topics yet, by the key of the record. */
  readonly #held = new Map<string, readonly Output[]>();
  readonly #inTurn = oneAtATime();

  constructor(
    private readonly log: RecordLog,
    private readonly topic: Topic<V>,
    private readonly options: TableOptions<V>,
    private readonly lease: Lease,
  ) {}

  get isUrgent(): boolean {
    return this.#urgent.size > 0 || this.#held.size > 0;
  }

  owns(key: string): boolean {
    return this.#partitions.has(this.#partitionOf(key));
  }

  hasRoom(key: string, entries: readonly Entry[]): boolean {
    return !this.#outputs.has(key) || fit(this.#outputsWith(key, entries));
  }

  set(key: string, value: V | null, entries: readonly Entry[]): void {
    const isNew = value !== null && !this.values.has(key);
    if (isNew) this.#checkRoom(key);
    const outputs = this.#outputsWith(key, entries);
    if (outputs.length > 0) {
      if (value === null || !fit(outputs))
        throw new RangeError(`a record of ${this.topic.name} holds at most ${maxHeldBytes} bytes of outputs, and a tombstone none`);
      this.#outputs.set(key, outputs);
    }
    this.#put(key, value);
    this.#changed(key, isNew || value === null || this.#outputs.has(key));
  }

  /**
   * Writes what is urgent and what is due by this time. One write at a time, so that of two records of a key the newer is the later in the
   * log.
   */
  write(untilMs: number, mayWrite = (): boolean => this.lease.held()): Promise<void> {
    return this.#inTurn(() => this.#write(untilMs, mayWrite));
  }

  async read(partitions: readonly number[]): Promise<void> {
    this.#partitions = new Set(partitions);
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

  async #write(untilMs: number, mayWrite: () => boolean): Promise<void> {
    if (!mayWrite()) return;
    await this.#send();
    const keys = [...this.#urgent, ...this.#due(untilMs)];
    for (let from = 0; from < keys.length && mayWrite(); from += maxAppended) {
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
    const urgent = keys.filter((key) => this.#urgent.delete(key));
    const outputs = new Map<string, readonly Output[]>();
    for (const key of keys) {
      const its = this.#outputs.get(key);
      this.#dueMs.delete(key);
      if (!its) continue;
      outputs.set(key, its);
      this.#onTheirWay.set(key, its.length);
    }
    try {
      await during(this.lease, () => this.log.append(keys.map((key) => this.#record(key, outputs.get(key)))));
    } catch (error) {
      const areUrgent = new Set(urgent);
      for (const key of keys) this.#changed(key, areUrgent.has(key));
      for (const [key, its] of outputs) this.#takeBack(key, its);
      throw error;
    }
    for (const [key, its] of outputs) {
      this.#onTheirWay.delete(key);
      this.#held.set(key, its);
      const later = this.#outputs.get(key)!.slice(its.length);
      if (later.length > 0) this.#outputs.set(key, later);
      else this.#outputs.delete(key);
    }
    await this.#send();
  }

  /** Outputs that could not be written are written together with those of changes that came meanwhile. */
  #takeBack(key: string, outputs: readonly Output[]): void {
    const all = this.#outputs.get(key)!;
    const later = all.slice(outputs.length).flatMap(({ decided }) => decided ?? []);
    this.#onTheirWay.delete(key);
    this.#outputs.set(key, outputs);
    this.#outputs.set(key, this.#outputsWith(key, later));
  }

  /** Appends the held outputs to their topics. The keys are written again, which says so; until then a crash appends them once more. */
  async #send(): Promise<void> {
    if (this.#held.size === 0) return;
    await during(this.lease, async (goesOn) => {
      const each = Array.from(this.#held, async ([key, outputs]) => {
        for (const ofTopic of Map.groupBy(outputs, ({ topic }) => topic).values()) if (goesOn()) await this.#append(ofTopic, goesOn);
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
    return entry(this.topic, this.#copied(value), outputs && { [heldHeader]: held(outputs) }, key);
  }

  #copied(value: V): V {
    return this.options.copied ? this.options.copied(value) : value;
  }

  /** What no record holds yet, and these after it. */
  #outputsWith(key: string, entries: readonly Entry[]): readonly Output[] {
    const outputs = [...(this.#outputs.get(key) ?? [])];
    const from = this.#onTheirWay.get(key) ?? 0;
    for (const one of entries) {
      const at = outputs.findIndex(({ topic }, index) => index >= from && topic === one.topic.name);
      const joined = outputs[at]?.decided && this.options.joined?.(outputs[at].decided, one);
      outputs.splice(joined ? at : outputs.length, 1, this.#output(joined ?? one));
    }
    return outputs;
  }

  #output(decided: Entry): Output {
    const { topic, key, value, headers = {} } = decided;
    return { topic: topic.name, key, bytes: value === null ? null : this.log.encoded({ topic, value }), headers, decided };
  }

  /** One call for all of them, but for those that another member has left. */
  async #append(outputs: readonly Output[], goesOn: () => boolean): Promise<void> {
    const entries = outputs.flatMap(({ decided }) => decided ?? []);
    if (entries.length === outputs.length) return this.log.append(entries);
    for (const output of outputs) if (goesOn()) await this.#appendLeft(output);
  }

  async #appendLeft({ topic: name, key, bytes, headers }: Output): Promise<void> {
    if (bytes) return this.log.appendBytes(name, key, bytes, headers);
    const topic = this.options.outputs?.find((one) => one.name === name);
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
    this.#put(key, value === null ? null : this.#copied(value as V));
    const text = headers[heldHeader];
    // An older record of the key may be in the log still: what is held is sent in the order of the newest ones.
    this.#held.delete(key);
    if (value !== null && text !== undefined) this.#held.set(key, unheld(text));
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
  /** What it is the bytes of, where this member has decided it. */
  readonly decided?: Entry;
}

const held = (outputs: readonly Output[]): string =>
  JSON.stringify(
    outputs.map(({ topic, key, headers, bytes }) => ({ topic, key, headers, bytes: bytes && Buffer.from(bytes).toString('base64') })),
  );

/** An upper bound for what one output takes in `held`, whose base64 is not made for it. */
const heldBytes = ({ bytes, topic, key, headers }: Output): number =>
  Buffer.byteLength(JSON.stringify({ topic, key, headers })) + 4 * Math.ceil((bytes?.length ?? 0) / 3) + 16;

const fit = (outputs: readonly Output[]): boolean => outputs.reduce((sum, output) => sum + heldBytes(output), 2) <= maxHeldBytes;

const unheld = (text: string): readonly Output[] =>
  (JSON.parse(text) as readonly (Output & { bytes: string | null })[]).map((one) => ({
    ...one,
    bytes: one.bytes === null ? null : Buffer.from(one.bytes, 'base64'),
  }));

import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import {
  isDeadLetters,
  ParkedLetters,
  type AnyTopic,
  type ConsumerOptions,
  type Entry,
  type FollowOptions,
  type Headers,
  type History,
  type RecordLog,
  type Start,
  type StreamRecord,
} from '#log';
import { forever, OperatorError, TelemetryError } from '#model';
import type { AvroCodec } from '#topics';
import { WorkerThread } from '../worker.js';
import { Appender, type WriteFailure, type Written } from './appender.js';
import type { Followed, Reading } from './follower.js';
import { encodedEntry, noHeaders, type Chunk, type ChunkRequest, type EncodedEntry } from './frame.js';
import { Journal } from './journal.js';
import type { LogFolder } from './log.worker.js';
import { LogFollowing } from './log-following.js';
import { LogRecord } from './log-record.js';
import type { Epoch } from './epochs.js';
import { everyPartition, nextOffsets, type GroupPosition, type Keeper } from './positions.js';
import { journalAgeMs, type Retention } from './retention.js';
import { GroupSubscription } from './subscription.js';
import type { Change } from './log-state.js';
import type { Found } from './segments.js';
import { Tail } from './tail.js';
import { Upkeep } from './upkeep.js';
import { Witness, witnessFileName } from './witness.js';

/** After encoding so many bytes an append lets the event loop turn; a small record counts as `recordBytes` more than it has. */
const sliceBytes = 256 * 1024;
const recordBytes = 256;

const journalBytes = 64 << 20;

export interface LogOptions {
  /** A journal ends when it has so many bytes. Every journal but the newest is sealed in the background. */
  readonly maxBytes?: number | undefined;
  /** Unix milliseconds; the machine's clock when left out. */
  readonly clock?: (() => number) | undefined;
  /** All records are kept when left out. */
  readonly retention?: Retention | undefined;
}

/** The log in files of its own, with a thread that reads and seals them. A group has one member here. */
export class FileLog implements RecordLog, Followed {
  readonly tail: Tail;
  /** Oldest first; the last one began when the log was opened, at its head. */
  readonly epochs: readonly Epoch[];
  readonly #appender: Appender;
  readonly #readings = new Set<Reading>();
  readonly #groups = new Map<string, GroupSubscription>();
  /** Keeps the positions of groups that no other keeper has. */
  readonly #keeper: Keeper;
  readonly #keepers = new Map<string, Keeper>();
  readonly #parked: ParkedLetters;
  readonly #upkeep: Upkeep;
  #head: number;

  private constructor(
    private readonly thread: WorkerThread,
    private readonly journal: Journal,
    private readonly witness: Witness,
    readonly codec: AvroCodec,
    readonly topics: ReadonlyMap<string, AnyTopic>,
    /** What the operator should know of the log, as a sentence. */
    readonly warning: string | undefined,
    { clock = Date.now, retention }: LogOptions,
  ) {
    const { head, epochs } = journal;
    this.epochs = epochs;
    this.#head = head;
    this.tail = new Tail(head);
    this.#parked = new ParkedLetters(this, {
      topics: [...topics.values()],
      // A letter comes after its record, and this process itself parks all letters from the head on.
      spanOf: (_, { offset }) => ({ from: Math.max(Number(offset) + 1, this.begins), to: head }),
      lookEveryMs: 0,
    });
    this.#appender = new Appender({
      append: (append) => journal.append(append),
      written: (written) => this.#written(written),
      drift: () => [...this.#groups].flatMap(([name, group]) => (this.#keepers.has(name) ? [] : group.drift())),
      clock,
    });
    this.#keeper = {
      of: (group) => Promise.resolve(journal.state.positions(group)),
      move: (positions) => this.change({ positions }),
    };
    // The thread is told before a reader asks for a record of the new journal.
    this.#upkeep = new Upkeep(this, thread, clock, retention);
    journal.onBegun = (first) => void this.#upkeep.tidy(thread.call('begun', first));
    void this.#upkeep.tidy();
  }

  /** Opens the log in a folder, made if need be. Rejects `log_corrupt` when it does not hold all that was acknowledged. */
  static async open(folder: string, codec: AvroCodec, topics: readonly AnyTopic[], options: LogOptions = {}): Promise<FileLog> {
    const witness = new Witness(join(folder, witnessFileName));
    const least = witness.head();
    const file = new URL('./log.worker.js', import.meta.url);
    const thread = new WorkerThread(file, 'log_unavailable');
    const found = await thread.open<Found>({ folder, least } satisfies LogFolder);
    const { maxBytes = journalBytes, retention } = options;
    const journal = await Journal.open({ folder, witness, maxBytes, maxAgeMs: retention && journalAgeMs(retention) }, found).catch(
      async (cause: unknown) => {
        await thread.terminate();
        throw cause;
      },
    );
    const isUnsure = least === undefined && found.head > 0;
    if (isUnsure) witness.saw(found.head);
    const named = new Map(topics.map((topic) => [topic.name, topic]));
    return new FileLog(thread, journal, witness, codec, named, isUnsure ? unsure : undefined, options);
  }

  get head(): number {
    return this.#head;
  }

  /** Offset at which the log begins: records before it were dropped, or are about to be. */
  get begins(): number {
    return this.journal.state.begins;
  }

  async append(entries: readonly Entry[]): Promise<void> {
    if (entries.length === 0) return;
    const encoded: EncodedEntry[] = [];
    let bytes = 0;
    for (const entry of entries) {
      if (bytes >= sliceBytes) {
        await setImmediate();
        bytes = 0;
      }
      const { topic, key, value, headers = noHeaders } = entry;
      const one = encodedEntry(topic, key, headers, value === null ? null : this.codec.encode(topic, value), entry);
      encoded.push(one);
      bytes += one.bytes + recordBytes;
    }
    await this.#appender.add(encoded);
  }

  async appendBytes(topic: string, key: string, bytes: Uint8Array, headers: Headers): Promise<void> {
    const isLetter = isDeadLetters(topic);
    if (isLetter && (await this.#parked.has(topic, headers))) return;
    const known = this.topics.get(topic) ?? { name: topic, partitions: 1, cleanup: 'delete' };
    await this.#appender.add([encodedEntry(known, key, headers, bytes)]);
    if (isLetter) this.#parked.add(topic, headers);
  }

  encoded(record: StreamRecord): Uint8Array {
    if (record.value === null) return new Uint8Array();
    return record instanceof LogRecord ? record.encoded(this.codec) : this.codec.encode(record.topic, record.value);
  }

  /** Has the positions of these groups kept elsewhere: with what the groups write, so that a crash loses both or neither. */
  keepWith(keeper: Keeper, groups: Iterable<string>): void {
    for (const group of groups) this.#keepers.set(group, keeper);
  }

  async consume(options: ConsumerOptions): Promise<GroupSubscription> {
    const keeper = this.#keepers.get(options.group) ?? this.#keeper;
    const positions = await this.#begin(keeper, options);
    if (this.#groups.has(options.group)) throw new Error(`group ${options.group} has a member already, and here it can have only one`);
    const subscription = new GroupSubscription(this, options, keeper, positions);
    this.#groups.set(options.group, subscription);
    const partitions = Math.max(...options.topics.map((topic) => topic.partitions));
    options.given?.(forever, [...Array(partitions).keys()]);
    this.#read(subscription);
    return subscription;
  }

  /** Whether a group has committed a record, as of now. */
  async committed(group: string): Promise<(record: StreamRecord) => boolean> {
    const positions = await this.positions(group);
    const next = new Map(Array.from(this.topics.values(), (topic) => [topic.name, nextOffsets(positions, topic)]));
    return ({ topic, partition, offset }) => offset < next.get(topic.name)![partition]!;
  }

  /** The names of all groups that have committed an offset, in order. */
  async groupNames(): Promise<readonly string[]> {
    const elsewhere = Array.from(this.#keepers, async ([name, keeper]) => ((await keeper.of(name)).length > 0 ? [name] : []));
    const names = (await Promise.all(elsewhere)).flat();
    return [...new Set([...this.journal.state.groups(), ...names])].toSorted();
  }

  /** Moves a group back, in no partition forward, and answers the topics that it reads. Rejects OperatorError. */
  async rewind(group: string, to: Start): Promise<readonly string[]> {
    if (this.#groups.has(group)) throw new OperatorError(`The group ${group} has a member: stop it first.`);
    if (this.#keepers.has(group)) throw new OperatorError(heldByStore(group));
    const offset = typeof to === 'string' ? 0 : 'offset' in to ? to.offset : await this.#since(to.timestampMs);
    await this.change({ rewound: [{ group, to: Math.max(offset, this.begins) }] });
    return [...new Set((await this.positions(group)).map(({ topic }) => topic))];
  }

  follow(options: FollowOptions): LogFollowing {
    const following = new LogFollowing(this, options);
    this.#read(following);
    return following;
  }

  /** By the epoch in which the last of the records was appended. */
  history(): Promise<History> {
    return Promise.resolve((offset) => (this.epochs.findLast(({ start }) => start < offset) ?? this.epochs[0]!).id);
  }

  read(request: Omit<ChunkRequest, 'to'>): Promise<Chunk> {
    return this.thread.call('read', { ...request, to: this.#head } satisfies ChunkRequest);
  }

  positions(group: string): Promise<readonly GroupPosition[]> {
    return (this.#keepers.get(group) ?? this.#keeper).of(group);
  }

  /** How many dead letters a topic of them has from an offset on, up to another. */
  countLetters(topic: string, from: number, to = Infinity): Promise<number> {
    return this.thread.call('count', { topic, from, to: Math.min(to, this.#head) });
  }

  /** Moves the positions of groups, each with its keeper. */
  async save(positions: readonly GroupPosition[]): Promise<void> {
    const byKeeper = Map.groupBy(positions, ({ group }) => this.#keepers.get(group) ?? this.#keeper);
    await Promise.all(Array.from(byKeeper, ([keeper, its]) => keeper.move(its)));
  }

  /** The groups that have a member, with what they read. */
  get members(): ReadonlyMap<string, readonly AnyTopic[]> {
    return new Map(Array.from(this.#groups, ([name, { topics }]) => [name, topics]));
  }

  /** Saves how far the groups are that have a member, so that it survives a power cut. */
  async saveFloors(): Promise<void> {
    await this.save([...this.#groups.values()].flatMap((group) => group.drift(1)));
    await Promise.all(Array.from(new Set(this.#keepers.values()), async (keeper) => keeper.settle?.()));
  }

  /** Whether somebody who has begun to read has yet to read records before an offset. */
  isRead(before: number): boolean {
    return [...this.#readings].some(({ position }) => position < before);
  }

  change(change: Change): Promise<void> {
    return this.#appender.add([], change);
  }

  /** Begins the next journal, if the oldest record of this one is old enough. */
  async endOldJournal(nowMs: number): Promise<void> {
    if (this.journal.isFull(nowMs)) await this.change({});
  }

  left(reading: Reading): void {
    this.#readings.delete(reading);
    for (const [name, member] of this.#groups) if (member === reading) this.#groups.delete(name);
  }

  /** The last write, when it failed. */
  get failure(): WriteFailure | undefined {
    return this.#appender.failure;
  }

  /** Why its thread has ended, in one line; undefined while it lives. */
  get ended(): string | undefined {
    return this.thread.ended;
  }

  /** Milliseconds since its thread has ended; 0 while it lives. */
  ageMs(): number {
    return this.thread.endedMs === undefined ? 0 : performance.now() - this.thread.endedMs;
  }

  /** Writes what waits, ends all readings and closes the file. */
  async close(): Promise<void> {
    this.#upkeep.stop();
    await this.#appender.close(stopping());
    await Promise.all([...this.#readings].map((reading) => reading.stop()));
    await this.journal.close();
    this.witness.close();
    await this.thread.terminate();
  }

  /** Ends everything where it stands. */
  async crash(): Promise<void> {
    this.#upkeep.stop();
    void this.#appender.close(stopping());
    for (const reading of this.#readings) void reading.stop();
    await Promise.all([this.journal.close(), this.thread.terminate()]);
    this.witness.crash();
  }

  /** Resolves when its files are in order, as far as they can be now. */
  tidied(): Promise<void> {
    return this.#upkeep.tidy();
  }

  /** Why its files could not be tidied, as a sentence for the operator; undefined when that went well. Nothing is lost meanwhile. */
  get untidy(): string | undefined {
    return this.#upkeep.failure;
  }

  #since(ms: number): Promise<number> {
    return this.thread.call('since', { ms, to: this.#head });
  }

  /** Where a group goes on. A group that begins at the end is saved there at once, so that it misses nothing that comes before its first commit. */
  async #begin(keeper: Keeper, { group, topics, from }: ConsumerOptions): Promise<readonly GroupPosition[]> {
    const saved = await keeper.of(group);
    if (from !== 'end') return saved;
    const fresh = topics.filter(({ name }) => !saved.some(({ topic }) => topic === name));
    const begun = fresh.map(({ name: topic }) => ({ group, topic, partition: everyPartition, next: this.#head }));
    if (begun.length > 0) await keeper.move(begun);
    return [...saved, ...begun];
  }

  #read(one: Reading): void {
    this.#readings.add(one);
    one.wake();
  }

  #written({ end, records }: Written): void {
    if (records) this.tail.push(records);
    else this.tail.trim(end);
    const fresh = records && { first: this.#head, end, topics: new Set(records.map(({ topic }) => topic.name)) };
    this.#head = end;
    for (const one of this.#readings) one.wake(fresh);
    this.#saveDrift();
    this.tail.trim(Math.min(end, ...[...this.#readings].map((one) => one.position)));
  }

  /** Saves the floors of groups that another keeper has. When that fails, the next start reads some records again. */
  #saveDrift(): void {
    for (const [name, keeper] of this.#keepers) {
      const floors = this.#groups.get(name)?.drift() ?? [];
      if (floors.length > 0) keeper.move(floors).catch(() => undefined);
    }
  }
}

const heldByStore = (group: string): string =>
  `The group ${group} only fills the store, which knows the records that it has and would drop them: \`headwater rebuild --data\` makes the ` +
  'store anew from the whole log.';

const unsure = `log/${witnessFileName} is missing or damaged: whether the newest records of the log are all there cannot be told this time.`;

function stopping(): TelemetryError {
  return new TelemetryError('log_unavailable', 'The log is being closed.', { retryAfterS: 1 });
}

import { forever, type Lease, TelemetryError } from '#model';
import { attemptsHeader, attemptsOf, deadLettersOf } from './dead-letter.js';
import { deliver, type Group, type Processor } from './processor.js';
import type { RecordLog, Subscription } from './record-log.js';
import type { Headers, Position, StreamRecord, Unreadable } from './topic.js';

/** How often every runner of a process takes a checkpoint, milliseconds. */
export const CHECKPOINT_MS = Symbol('CheckpointMs');

export interface RunnerOptions {
  readonly checkpointMs: number;
  /** How often time passes for a processor that ticks; a second when left out. */
  readonly tickMs?: number;
  /** Unix milliseconds; the machine's clock when left out. */
  readonly clock?: () => number;
  /** Hears of everything that goes wrong, in words for the operator. */
  readonly report: (message: string, error: unknown) => void;
}

/** What a runner has done so far. */
export interface RunnerFigures {
  /** Records that the processor has taken. */
  readonly processed: number;
  /** Records in the dead-letter topic because of this group. */
  readonly parked: number;
  /** Attempts of processing or of a checkpoint that failed while the partitions were ours. */
  readonly failures: number;
  /** Milliseconds since everything processed was last known to be durable. */
  readonly checkpointAgeMs: number;
  /** Why the group stands still for good; undefined while it does not. */
  readonly stoppedBy: Error | undefined;
}

/**
 * Runs a processor as a consumer group. Offsets are committed only behind a checkpoint that began after their processing. A batch that
 * fails for want of something (a retryable error, memory, a damaged file) comes again until it works; any other failure is some record's own:
 * it is found and parked in `<topic>.dlq`, and the partition goes on.
 */
export class Runner {
  #subscription: Subscription | undefined;
  readonly #timers: NodeJS.Timeout[] = [];
  #stopping = false;
  /** Rejects when the runner stops. */
  readonly #end = Promise.withResolvers<never>();
  #checkpointing: Promise<void> | undefined;
  #checkpointMs = performance.now();
  #stoppedBy: Error | undefined;
  /** The lease under which everything in `#processed` was delivered. */
  #lease: Lease = forever;
  #partitions: readonly number[] = [];
  /** The reading of the table under that lease, once it has begun. */
  #opening: Promise<void> | undefined;
  #isOpen = false;
  #ticking: Promise<void> | undefined;
  readonly #counts = { processed: 0, parked: 0, failures: 0 };
  readonly #running = new Set<Promise<void>>();
  /** Where each partition goes on, for what is processed and not committed. */
  readonly #processed = new Map<string, Position>();
  /** Places that were parked and may come again. */
  readonly #parked = new Map<string, Place>();

  constructor(
    private readonly log: RecordLog,
    private readonly processor: Processor,
    private readonly options: RunnerOptions,
  ) {
    // Whoever waits for the end hears of it.
    this.#end.promise.catch(() => undefined);
    const left = this.#group.inputs.find(({ name }) => !processor.inputs.some(({ topic }) => topic.name === name));
    if (left) throw new Error(`the processor of group ${this.#group.name} does not take ${left.name}`);
  }

  get #group(): Group {
    return this.processor.group;
  }

  /** Resolves when the group has joined. */
  async start(): Promise<void> {
    this.#subscription = await this.log.consume({
      group: this.#group.name,
      topics: this.#group.inputs,
      from: this.#group.from,
      given: (lease, partitions) => this.#given(lease, partitions),
      handler: (records, lease) => this.#run(lease, () => this.#take(records, lease)),
      unreadable: (record, lease) => this.#run(lease, () => this.#refuse(record, lease)),
      stopped: (error) => this.#stopped(error),
    });
    const { checkpointMs, tickMs = 1_000 } = this.options;
    this.#every(checkpointMs, async () => this.#checkpointing ?? this.checkpoint());
    if (this.processor.tick) this.#every(tickMs, () => this.tick());
    else if (this.processor.table) this.#every(tickMs, () => this.#open());
  }

  /** Resolves when the effects of all that was processed before the call are durable and its offsets committed. */
  checkpoint(): Promise<void> {
    const before = this.#checkpointing ?? Promise.resolve();
    const checkpoint = before.catch(() => undefined).then(() => this.#checkpointOnce());
    this.#checkpointing = checkpoint;
    return checkpoint.finally(() => {
      if (this.#checkpointing === checkpoint) this.#checkpointing = undefined;
    });
  }

  /** Resolves when the processor has done what is due by now; batches wait meanwhile. A call while a tick is under way is that tick. */
  tick(): Promise<void> {
    this.#ticking ??= this.#tickOnce().finally(() => (this.#ticking = undefined));
    return this.#ticking;
  }

  /** Lets the handler end, takes a last checkpoint, and leaves the group. A checkpoint that fails leaves the offsets where they are. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#end.reject(stopping());
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.allSettled([...this.#running, this.#ticking]);
    await this.checkpoint().catch(() => undefined);
    await this.#subscription?.stop();
  }

  /** Resolves when all that was in the log at the call is processed. Rejects when the log cannot be read so far. */
  async caughtUp(): Promise<void> {
    await this.#subscription?.caughtUp();
  }

  /** Records appended and not yet committed by the group. */
  async lag(): Promise<number> {
    return (await this.#subscription?.lag()) ?? 0;
  }

  figures(): RunnerFigures {
    return { ...this.#counts, checkpointAgeMs: performance.now() - this.#checkpointMs, stoppedBy: this.#stoppedBy };
  }

  /** What fails was reported, and the next time is the next attempt. */
  #every(ms: number, work: () => Promise<void>): void {
    this.#timers.push(setInterval(() => void work().catch(() => undefined), ms).unref());
  }

  async #tickOnce(): Promise<void> {
    const lease = this.#lease;
    await Promise.allSettled(this.#running);
    await this.#onTable(lease, async () => {
      // The lease may be another one by now: the next tick is for that one.
      if (lease !== this.#lease || !lease.held() || this.#stopping) return;
      const { clock = Date.now } = this.options;
      await this.#told('a tick failed', lease, async () => this.processor.tick?.(clock(), lease));
    });
  }

  /** Does work that changes the table. What earlier work has to write at once is written before it, and what this work has, after it. */
  async #onTable(lease: Lease, work: () => Promise<void>): Promise<void> {
    const { table } = this.processor;
    if (!table) return work();
    const settle = (): Promise<void> => this.#told('the table cannot be written', lease, async () => table.settle());
    await this.#told('the table cannot be read', lease, () => this.#open());
    await settle();
    await work();
    await settle();
  }

  async #told(what: string, lease: Lease, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#failed(what, error, lease);
      throw error;
    }
  }

  async #checkpointOnce(): Promise<void> {
    const positions = [...this.#processed.values()];
    const lease = this.#lease;
    try {
      if (positions.length > 0) {
        await this.processor.checkpoint?.();
        await this.processor.table?.write();
        if (!lease.held()) throw new TelemetryError('log_unavailable', 'The group has given the partitions to other members.');
        await this.#subscription!.commit(positions);
        this.#forget(positions);
      }
      this.#checkpointMs = performance.now();
    } catch (error) {
      if (lease === this.#lease && !lease.held()) this.#forgetAll();
      this.#failed('a checkpoint failed', error, lease);
      throw error;
    }
  }

  #forget(committed: readonly Position[]): void {
    for (const position of committed) {
      const partition = partitionName(position);
      if (this.#processed.get(partition) === position) this.#processed.delete(partition);
      for (const [place, it] of this.#parked) {
        if (partitionName(it) === partition && it.offset < position.offset) this.#parked.delete(place);
      }
    }
  }

  /** The table is read at once, not with the first batch: it may hold outputs that another member has left. */
  #given(lease: Lease, partitions: readonly number[]): void {
    this.#hold(lease);
    this.#partitions = partitions;
    // A tick of the lease before still uses what the table knew then.
    const before = this.#ticking ?? Promise.resolve();
    void before
      .catch(() => undefined)
      .then(() => this.#open())
      .catch(() => undefined);
  }

  /** Resolves when the table knows the partitions of the lease. */
  async #open(): Promise<void> {
    const { table } = this.processor;
    if (!table || this.#isOpen) return;
    const opening = (this.#opening ??= table.begin(this.#lease, this.#partitions));
    try {
      await Promise.race([opening, this.#end.promise]);
      if (this.#opening === opening) this.#isOpen = true;
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
  }

  /** Runs a handler, and none once the runner stops: what is refused here was not committed and comes again. */
  async #run(lease: Lease, handler: () => Promise<void>): Promise<void> {
    while (this.#ticking) await this.#ticking.catch(() => undefined);
    if (this.#stopping) throw stopping();
    this.#hold(lease);
    const running = handler();
    this.#running.add(running);
    await running.finally(() => this.#running.delete(running));
  }

  /** What was processed under another lease is not ours to commit. */
  #hold(lease: Lease): void {
    if (lease === this.#lease) return;
    this.#lease = lease;
    this.#opening = undefined;
    this.#isOpen = false;
    this.#forgetAll();
  }

  #forgetAll(): void {
    this.#processed.clear();
    this.#parked.clear();
  }

  async #take(records: readonly StreamRecord[], lease: Lease): Promise<void> {
    const fresh = this.#parked.size === 0 ? records : records.filter((record) => !this.#parked.has(placeName(placeOf(record))));
    if (fresh.length > 0) await this.#onTable(lease, () => this.#process(fresh, lease));
    if (lease === this.#lease) for (const record of records) this.#done(placeOf(record));
  }

  async #process(records: readonly StreamRecord[], lease: Lease): Promise<void> {
    try {
      await deliver(this.processor, records, lease);
      this.#counts.processed += records.length;
    } catch (error) {
      this.#failed('a batch failed', error, lease);
      if (!isOfARecord(error)) throw error;
      const [first] = records;
      if (records.length === 1) await this.#park(placeOf(first!), first!, this.log.encoded(first!), error, lease);
      else for (const record of records) await this.#process([record], lease);
    }
  }

  async #refuse(record: Unreadable, lease: Lease): Promise<void> {
    const place = { topic: record.topic.name, partition: record.partition, offset: record.offset };
    if (!this.#parked.has(placeName(place))) await this.#park(place, record, record.bytes, new Error(record.reason), lease);
    if (lease === this.#lease) this.#done(place);
  }

  async #park(place: Place, { key, headers }: Parked, bytes: Uint8Array, error: unknown, lease: Lease): Promise<void> {
    const { name: group } = this.#group;
    const reason = (error instanceof Error ? error.message : String(error)).slice(0, 1000);
    const { topic, partition, offset } = place;
    const from = { topic, partition: `${partition}`, offset: `${offset}` };
    try {
      await this.log.appendBytes(deadLettersOf(topic), key, bytes, {
        reason,
        ...from,
        group,
        [attemptsHeader]: `${attemptsOf(headers) + 1}`,
      });
    } catch (cause) {
      this.#failed(`the record of ${placeName(place)} cannot be parked, and its partition waits`, cause, lease);
      throw cause;
    }
    this.#parked.set(placeName(place), place);
    this.#counts.parked++;
    this.options.report(`group ${group} parked the record of ${placeName(place)} in ${topic}.dlq`, error);
  }

  #done({ topic, partition, offset }: Place): void {
    this.#processed.set(partitionName({ topic, partition }), { topic, partition, offset: offset + 1 });
  }

  /** What is given up with its lease is no failure: it comes again to whoever has the partitions then. */
  #failed(what: string, error: unknown, lease: Lease): void {
    if (!lease.held()) return;
    this.#counts.failures++;
    this.options.report(`group ${this.#group.name}: ${what}`, error);
  }

  #stopped(error: Error): void {
    this.#stoppedBy = error;
    this.options.report(`group ${this.#group.name} has stopped: the log cannot be read any further`, error);
  }
}

const stopping = (): Error => new Error('the runner stops');

/** What a dead letter keeps of a record beside its bytes. */
interface Parked {
  readonly key: string;
  readonly headers: Headers;
}

/** A record by its place; a Position has the same shape but names the next one. */
interface Place {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

const placeOf = ({ topic, partition, offset }: StreamRecord): Place => ({ topic: topic.name, partition, offset });
const partitionName = ({ topic, partition }: Pick<Place, 'topic' | 'partition'>): string => `${topic}/${partition}`;
const placeName = ({ topic, partition, offset }: Place): string => `${topic}/${partition} at offset ${offset}`;

/** Whether another attempt with the same record would fail for ever while other records work. */
function isOfARecord(error: unknown): boolean {
  if (isWantOfMemory(error)) return false;
  if (!(error instanceof TelemetryError)) return true;
  return !error.retryable && error.code !== 'store_corrupt' && error.code !== 'log_corrupt';
}

/** What V8 and Node say when there is no memory for a buffer. */
function isWantOfMemory(error: unknown): boolean {
  const { name, message } = (error ?? {}) as Partial<Error>;
  return name === 'RangeError' && /Array buffer allocation failed|Failed to allocate memory/.test(message ?? '');
}

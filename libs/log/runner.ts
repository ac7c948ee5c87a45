import { causes, forever, Histogram, type Lease, oneAtATime, TelemetryError } from '#model';
import { Complaints, type Tell } from './complaints.js';
import { deadLettersOf } from './dead-letter.js';
import { isOfARecord, park } from './park.js';
import { deliver, type Group, type Processor } from './processor.js';
import type { PartitionLag, RecordLog, Subscription } from './record-log.js';
import type { StreamRecord, Unreadable } from './topic.js';
import { partitionName, placeName, UnderLease } from './under-lease.js';

/** How often every runner of a process takes a checkpoint, milliseconds. */
export const CHECKPOINT_MS = Symbol('CheckpointMs');

export interface RunnerOptions {
  readonly checkpointMs: number;
  /** How often time passes for a processor that ticks; a second when left out. */
  readonly tickMs?: number;
  /** Unix milliseconds; the machine's clock when left out. */
  readonly clock?: () => number;
  /** Hears what goes wrong, and what works again, in words for the operator. */
  readonly report: Tell;
}

/** Of one partition: what the group has not committed. */
export interface RunnerLag extends PartitionLag {
  /** Milliseconds since the oldest of it was appended; 0 when there is none. */
  readonly ageMs: number;
}

/** More records than these, parked between two checkpoints, are counted in one report. */
const maxTold = 20;

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
  /** Seconds that checkpoints took which had something to make durable. */
  readonly checkpointSeconds: Histogram;
  /** Why the group stands still for good; undefined while it does not. */
  readonly stoppedBy: Error | undefined;
}

/**
 * Runs a processor as a consumer group. Offsets are committed only behind a checkpoint that began after their processing. A batch that
 * fails for want of something (a retryable error, memory, a damaged file) comes again until it works; any other failure is some record's own:
 * it is found and parked in `<topic>.dlq`, and the partition goes on.
 */
export class Runner {
  readonly #group: Group;
  #subscription: Subscription | undefined;
  readonly #timers: NodeJS.Timeout[] = [];
  #stopping = false;
  /** Rejects when the runner stops. */
  readonly #end = Promise.withResolvers<never>();
  readonly #inTurn = oneAtATime();
  #checkpointMs = performance.now();
  #stoppedBy: Error | undefined;
  #current = new UnderLease(forever, []);
  #ticking: Promise<void> | undefined;
  readonly #counts = { processed: 0, parked: 0, failures: 0 };
  readonly #running = new Set<Promise<void>>();
  readonly #complaints: Complaints;
  /** Records that were parked since the last checkpoint. */
  #parkedLately = 0;
  /** When each partition was last seen without lag, or first looked at. */
  readonly #noneMs = new Map<string, number>();
  readonly #checkpointSeconds = new Histogram([0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100]);

  constructor(
    private readonly log: RecordLog,
    private readonly processor: Processor,
    private readonly options: RunnerOptions,
  ) {
    this.#group = processor.group;
    this.#complaints = new Complaints((message, error) => options.report(`group ${this.#group.name}: ${message}`, error));
    // Those who wait for it get the rejection; there may be nobody.
    this.#end.promise.catch(() => undefined);
    const left = this.#group.inputs.find(({ name }) => !processor.inputs.some(({ topic }) => topic.name === name));
    if (left) throw new Error(`the processor of group ${this.#group.name} does not take ${left.name}`);
  }

  /** Resolves when the group has joined. */
  async start(): Promise<void> {
    this.#subscription = await this.log.consume({
      group: this.#group.name,
      topics: this.#group.inputs,
      from: this.#group.from,
      given: (lease, partitions) => this.#given(lease, partitions),
      handler: (records, lease) => this.#run(lease, (current) => this.#take(records, current)),
      unreadable: (record, lease) => this.#run(lease, (current) => this.#refuse(record, current)),
      stopped: (error) => this.#stopped(error),
    });
    const { checkpointMs, tickMs = 1_000 } = this.options;
    this.#every(checkpointMs, () => this.checkpoint());
    if (this.processor.tick) this.#every(tickMs, () => this.tick());
    else if (this.processor.table) this.#every(tickMs, () => this.#open());
  }

  /** Resolves when the effects of all that was processed before the call are durable and its offsets committed. */
  checkpoint(): Promise<void> {
    return this.#inTurn(() => this.#checkpoint());
  }

  /** Resolves when the processor has done what is due by now; batches wait meanwhile. A call while a tick is under way is that tick. */
  tick(): Promise<void> {
    this.#ticking ??= this.#tick().finally(() => (this.#ticking = undefined));
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

  /** The same for each partition that this member has, and how old the oldest of them is. */
  async lags(): Promise<readonly RunnerLag[]> {
    const { clock = Date.now } = this.options;
    const current = this.#current;
    const lags = (await this.#subscription?.lags()) ?? [];
    const nowMs = clock();
    return lags
      .filter(({ partition }) => current.partitions.includes(partition))
      .map((lag) => ({ ...lag, ageMs: this.#ageMs(lag, current, nowMs) }));
  }

  figures(): RunnerFigures {
    return {
      ...this.#counts,
      checkpointAgeMs: performance.now() - this.#checkpointMs,
      checkpointSeconds: this.#checkpointSeconds,
      stoppedBy: this.#stoppedBy,
    };
  }

  /** Of records of which none has come yet it is known only that there were none at the last look. */
  #ageMs({ topic, partition, records }: PartitionLag, current: UnderLease, nowMs: number): number {
    const place = `${topic}/${partition}`;
    const noneMs = this.#noneMs.get(place) ?? nowMs;
    if (records === 0 || !this.#noneMs.has(place)) this.#noneMs.set(place, nowMs);
    return records === 0 ? 0 : Math.max(0, nowMs - (current.oldestMs(topic, partition) ?? noneMs));
  }

  /** Does work again and again, never twice at a time. What fails was reported, and the next time is the next attempt. */
  #every(ms: number, work: () => Promise<void>): void {
    let attempt: Promise<void> | undefined;
    const again = (): void => {
      attempt ??= work()
        .catch(() => undefined)
        .finally(() => (attempt = undefined));
    };
    this.#timers.push(setInterval(again, ms).unref());
  }

  async #tick(): Promise<void> {
    const current = this.#current;
    const { lease } = current;
    await Promise.allSettled(this.#running);
    await this.#onTable(current, async () => {
      // The lease may be another one by now: the next tick is for that one.
      if (current !== this.#current || !lease.held() || this.#stopping) return;
      const { clock = Date.now } = this.options;
      await this.#told('a tick', lease, async () => this.processor.tick?.(clock(), lease));
    });
  }

  /** Does work that changes the table. What earlier work has to write at once is written before it, and what this work has, after it. */
  async #onTable({ lease }: UnderLease, work: () => Promise<void>): Promise<void> {
    const { table } = this.processor;
    if (!table) return work();
    const settle = (): Promise<void> => this.#told('writing the table', lease, async () => table.settle());
    await this.#told('reading the table', lease, () => this.#open());
    await settle();
    await work();
    await settle();
  }

  #open(): Promise<void> {
    return this.#current.open(this.processor.table, this.#end.promise);
  }

  async #checkpoint(): Promise<void> {
    const current = this.#current;
    const { lease } = current;
    const positions = current.positions();
    const begunMs = performance.now();
    try {
      if (positions.length > 0) {
        await this.processor.checkpoint?.();
        await this.processor.table?.write();
        if (!lease.held()) throw new TelemetryError('log_unavailable', 'The group has given the partitions to other members.');
        await this.#subscription!.commit(positions);
        current.committed(positions);
        this.#checkpointSeconds.add((performance.now() - begunMs) / 1000);
      }
      this.#checkpointMs = performance.now();
      this.#complaints.worked('a checkpoint');
      this.#tellParked();
    } catch (error) {
      if (!lease.held()) current.forget();
      this.#failed('a checkpoint', error, lease);
      throw error;
    }
  }

  /** The table is read at once, not with the first batch: it may hold outputs that another member has left. */
  #given(lease: Lease, partitions: readonly number[]): void {
    this.#current = new UnderLease(lease, partitions);
    this.#complaints.forget();
    // A tick of the lease before still uses what the table knew then.
    void Promise.allSettled([this.#ticking]).then(() => this.#open().catch(() => undefined));
  }

  /** Runs a handler, and none once the runner stops: what is refused here was not committed and comes again. */
  async #run(lease: Lease, handler: (current: UnderLease) => Promise<void>): Promise<void> {
    while (this.#ticking) await this.#ticking.catch(() => undefined);
    if (this.#stopping) throw stopping();
    if (lease !== this.#current.lease) this.#current = new UnderLease(lease, this.#current.partitions);
    const running = handler(this.#current);
    this.#running.add(running);
    await running.finally(() => this.#running.delete(running));
  }

  async #take(records: readonly StreamRecord[], current: UnderLease): Promise<void> {
    current.came(records[0]!);
    const fresh = current.unparked(records);
    if (fresh.length > 0) await this.#onTable(current, () => this.#process(fresh, current));
    for (const record of records) current.processed(record);
  }

  async #process(records: readonly StreamRecord[], current: UnderLease): Promise<void> {
    const [first] = records as [StreamRecord];
    const what = `a batch of ${partitionName(first)}`;
    try {
      await deliver(this.processor, records, current.lease);
      this.#counts.processed += records.length;
      this.#complaints.worked(what);
    } catch (error) {
      if (!isOfARecord(error)) {
        this.#failed(what, error, current.lease, ` from offset ${first.offset}`);
        throw error;
      }
      // What is told of such a failure is which record is parked, and why.
      if (current.lease.held()) this.#counts.failures++;
      if (records.length > 1) for (const record of records) await this.#process([record], current);
      else await this.#park({ ...first, bytes: this.log.encoded(first), reason: reasonOf(error) }, error, current);
    }
  }

  async #refuse(record: Unreadable, current: UnderLease): Promise<void> {
    if (current.unparked([record]).length > 0) await this.#park(record, new Error(record.reason), current);
    current.processed(record);
  }

  async #park(record: Unreadable, error: unknown, current: UnderLease): Promise<void> {
    const { name: group } = this.#group;
    const place = placeName(record);
    await this.#told(`parking the record of ${place}, for which its partition waits,`, current.lease, () => park(this.log, group, record));
    current.parked(record);
    this.#counts.parked++;
    if (++this.#parkedLately > maxTold) return;
    const letters = deadLettersOf(record.topic.name);
    this.options.report(`group ${group} parked the record of ${place} in ${letters}: ${causes(error)}`, error);
  }

  #tellParked(): void {
    const more = this.#parkedLately - maxTold;
    this.#parkedLately = 0;
    if (more > 0) this.options.report(`group ${this.#group.name} parked ${more} more records: headwater dlq list shows them`);
  }

  async #told(what: string, lease: Lease, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#complaints.worked(what);
    } catch (error) {
      this.#failed(what, error, lease);
      throw error;
    }
  }

  /** What is given up with its lease is no failure: it comes again to whoever has the partitions then. */
  #failed(what: string, error: unknown, lease: Lease, where?: string): void {
    if (!lease.held()) return;
    this.#counts.failures++;
    this.#complaints.failed(what, error, where);
  }

  #stopped(error: Error): void {
    this.#stoppedBy = error;
    this.options.report(`group ${this.#group.name} has stopped: the log cannot be read any further: ${causes(error)}`, error);
  }
}

const stopping = (): Error => new Error('the runner stops');
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

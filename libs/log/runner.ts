import { forever, type Lease, oneAtATime, TelemetryError } from '#model';
import { deadLettersOf } from './dead-letter.js';
import { isOfARecord, park } from './park.js';
import { deliver, type Group, type Processor } from './processor.js';
import type { RecordLog, Subscription } from './record-log.js';
import type { StreamRecord, Unreadable } from './topic.js';
import { placeName, UnderLease } from './under-lease.js';

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

  constructor(
    private readonly log: RecordLog,
    private readonly processor: Processor,
    private readonly options: RunnerOptions,
  ) {
    this.#group = processor.group;
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

  figures(): RunnerFigures {
    return { ...this.#counts, checkpointAgeMs: performance.now() - this.#checkpointMs, stoppedBy: this.#stoppedBy };
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
      await this.#told('a tick failed', lease, async () => this.processor.tick?.(clock(), lease));
    });
  }

  /** Does work that changes the table. What earlier work has to write at once is written before it, and what this work has, after it. */
  async #onTable({ lease }: UnderLease, work: () => Promise<void>): Promise<void> {
    const { table } = this.processor;
    if (!table) return work();
    const settle = (): Promise<void> => this.#told('the table cannot be written', lease, async () => table.settle());
    await this.#told('the table cannot be read', lease, () => this.#open());
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
    try {
      if (positions.length > 0) {
        await this.processor.checkpoint?.();
        await this.processor.table?.write();
        if (!lease.held()) throw new TelemetryError('log_unavailable', 'The group has given the partitions to other members.');
        await this.#subscription!.commit(positions);
        current.committed(positions);
      }
      this.#checkpointMs = performance.now();
    } catch (error) {
      if (!lease.held()) current.forget();
      this.#failed('a checkpoint failed', error, lease);
      throw error;
    }
  }

  /** The table is read at once, not with the first batch: it may hold outputs that another member has left. */
  #given(lease: Lease, partitions: readonly number[]): void {
    this.#current = new UnderLease(lease, partitions);
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
    const fresh = current.unparked(records);
    if (fresh.length > 0) await this.#onTable(current, () => this.#process(fresh, current));
    for (const record of records) current.processed(record);
  }

  async #process(records: readonly StreamRecord[], current: UnderLease): Promise<void> {
    try {
      await deliver(this.processor, records, current.lease);
      this.#counts.processed += records.length;
    } catch (error) {
      this.#failed('a batch failed', error, current.lease);
      if (!isOfARecord(error)) throw error;
      const [first] = records as [StreamRecord];
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
    const cannot = `the record of ${place} cannot be parked, and its partition waits`;
    await this.#told(cannot, current.lease, () => park(this.log, group, record));
    current.parked(record);
    this.#counts.parked++;
    this.options.report(`group ${group} parked the record of ${place} in ${deadLettersOf(record.topic.name)}`, error);
  }

  #told(what: string, lease: Lease, work: () => Promise<void>): Promise<void> {
    return work().catch((error: unknown) => {
      this.#failed(what, error, lease);
      throw error;
    });
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
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

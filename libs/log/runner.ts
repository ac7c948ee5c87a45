import { causes, forever, Histogram, type Lease, oneAtATime, TelemetryError } from '#model';
import type { Tell } from './complaints.js';
import { GroupWork } from './group-work.js';
import type { Group, Processor } from './processor.js';
import type { PartitionLag, RecordLog, Subscription } from './record-log.js';
import { UnderLease } from './under-lease.js';

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
  readonly #work: GroupWork;
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
  /** Since when everything is known to be processed under a lease, Unix milliseconds. */
  #caughtUp: { readonly current: UnderLease; readonly ms: number } | undefined;
  #isLooking = false;
  readonly #running = new Set<Promise<void>>();
  /** When each partition was last seen without lag, or first looked at. */
  readonly #noneMs = new Map<string, number>();
  readonly #checkpointSeconds = new Histogram([0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100]);

  constructor(
    private readonly log: RecordLog,
    private readonly processor: Processor,
    private readonly options: RunnerOptions,
  ) {
    this.#group = processor.group;
    this.#work = new GroupWork(log, processor, options.report, () => this.#open());
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
      handler: (records, lease) => this.#run(lease, (current) => this.#work.take(records, current)),
      unreadable: (record, lease) => this.#run(lease, (current) => this.#work.refuse(record, current)),
      stopped: (error) => this.#stopped(error),
    });
    const { checkpointMs, tickMs = 1_000 } = this.options;
    this.#every(checkpointMs, () => this.checkpoint());
    if (this.processor.tick) this.#every(tickMs, () => this.tick());
    else if (this.processor.table) this.#every(tickMs, async () => this.#open());
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
      ...this.#work.counts,
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
    await this.#work.onTable(current, async () => {
      // The lease may be another one by now: the next tick is for that one.
      if (current !== this.#current || !lease.held() || this.#stopping) return;
      const { clock = Date.now } = this.options;
      const caughtUpMs = this.#caughtUp?.current === current ? this.#caughtUp.ms : undefined;
      await this.#work.told('a tick', lease, async () => this.processor.tick?.(clock(), lease, caughtUpMs));
      // Not awaited: batches wait for this tick, and to catch up is to wait for batches.
      void this.#look(current, clock());
    });
  }

  /** Notes that all that was in the log now is processed, once it is. What was processed under a lost lease does not count. */
  async #look(current: UnderLease, nowMs: number): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await this.caughtUp();
      if (current === this.#current) this.#caughtUp = { current, ms: nowMs };
    } catch {
      // The log cannot be read so far: nothing is known, and the next tick looks again.
    } finally {
      this.#isLooking = false;
    }
  }

  #open(): Promise<void> | undefined {
    return this.#current.open(this.processor.table, this.#end.promise);
  }

  async #checkpoint(): Promise<void> {
    const current = this.#current;
    try {
      await this.#work.told('a checkpoint', current.lease, () => this.#commit(current));
    } catch (error) {
      if (!current.lease.held()) current.forget();
      throw error;
    }
    this.#checkpointMs = performance.now();
    this.#work.tellParked();
  }

  async #commit(current: UnderLease): Promise<void> {
    const positions = current.positions();
    if (positions.length === 0) return;
    const begunMs = performance.now();
    await this.processor.checkpoint?.();
    await this.processor.table?.write();
    if (!current.lease.held()) throw new TelemetryError('log_unavailable', 'The group has given the partitions to other members.');
    await this.#subscription!.commit(positions);
    current.committed(positions);
    this.#checkpointSeconds.add((performance.now() - begunMs) / 1000);
  }

  /** The table is read at once, not with the first batch: it may hold outputs that another member has left. */
  #given(lease: Lease, partitions: readonly number[]): void {
    this.#current = new UnderLease(lease, partitions);
    this.#work.forget();
    // A tick of the lease before still uses what the table knew then.
    void Promise.allSettled([this.#ticking]).then(() => this.#open()?.catch(() => undefined));
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

  #stopped(error: Error): void {
    this.#stoppedBy = error;
    this.options.report(`group ${this.#group.name} has stopped: the log cannot be read any further: ${causes(error)}`, error);
  }
}

const stopping = (): Error => new Error('the runner stops');

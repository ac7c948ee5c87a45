import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Metrics, Readiness } from '#edge';
import { CHECKPOINT_MS, RECORD_LOG, Runner, type Processor, type RecordLog } from '#log';
import { causes, TelemetryError } from '#model';
import { GENERATIONS, type Generations } from '#stores';
import { AlertTracker } from './alert-tracker.js';
import { DeliveryDesk } from './delivery-desk.js';
import { MonitorWatch } from './monitor-watch.js';
import { NoticeMaker } from './notice-maker.js';
import { projectorsOf } from './projectors-of.js';
import { runnerMetrics } from './runner-metrics.js';
import { SourceTracker } from './source-tracker.js';

/** The processors that decide what people change; see `deciders`. */
export const DECIDERS = Symbol('Deciders');

const againMs = 1000;
/** How often the log says how much is still to be read. */
const toldMs = 5000;

/**
 * Runs every processor as a consumer group of its own, from the start of the application until its last request is answered. Groups of a
 * generation come and go with it.
 */
@Injectable()
export class Processors implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #runners = new Map<string, Runner>();
  /** Groups of the live generation that have not caught up with the end that the log had when they started. */
  readonly #behind = new Set<string>();
  readonly #logger = new Logger('processors');
  #last: Promise<void> = Promise.resolve();
  #stopping = false;
  readonly #stopped = Promise.withResolvers<void>();

  constructor(
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CHECKPOINT_MS) private readonly checkpointMs: number,
    @Inject(GENERATIONS) private readonly generations: Generations,
    private readonly readiness: Readiness,
    metrics: Metrics,
    private readonly sources: SourceTracker,
    @Inject(DECIDERS) private readonly deciders: readonly Processor[],
    private readonly monitors: MonitorWatch,
    private readonly alerts: AlertTracker,
    private readonly notices: NoticeMaker,
    private readonly deliveries: DeliveryDesk,
  ) {
    readiness.add(() => this.generations.whyNotWritten());
    readiness.add(() => this.#whyNot());
    metrics.add(...runnerMetrics(this.#runners), ...monitors.metrics(), ...deliveries.metrics());
  }

  onApplicationBootstrap(): void {
    // Asked for the first time now, so that an answer is there soon.
    this.generations.whyNotWritten();
    this.#last = this.#begin();
    this.readiness.need(this.#last);
    void this.#tellProgress();
  }

  /** Takes the last checkpoints. The log and the stores are closed later. */
  async onApplicationShutdown(): Promise<void> {
    this.#stopping = true;
    this.#stopped.resolve();
    await this.#last.catch(() => undefined);
    await Promise.all(Array.from(this.#runners.values(), (runner) => runner.stop()));
  }

  /** The log may be away for long; a stop does not wait for it. */
  async #begin(): Promise<void> {
    await Promise.race([this.generations.ready, this.#stopped.promise]);
    this.generations.changes(() => this.#follow());
    await this.#run();
  }

  /** Starts and stops groups until those that run are those that are wanted. Changes are made one after the other. */
  #follow(): void {
    this.#last = this.#last
      .then(() => this.#run())
      .catch((error: unknown) => {
        this.#report(`the groups of a generation could not be started or stopped: ${causes(error)}`, error);
        if (!this.#stopping) setTimeout(() => this.#follow(), againMs).unref();
      });
  }

  async #run(): Promise<void> {
    if (this.#stopping) return;
    const wanted = this.#wanted();
    const ended = Array.from(this.#runners).filter(([group]) => !wanted.has(group));
    await Promise.all(ended.map(([group, runner]) => this.#end(group, runner)));
    const fresh = Array.from(wanted).filter(([group]) => !this.#runners.has(group));
    const seen = new Set(this.#wanted(1).keys());
    for (const [group] of fresh) if (seen.has(group)) this.#behind.add(group);
    await Promise.all(fresh.map(([group, processor]) => this.#start(group, processor)));
  }

  /** The processors by group: those of the first so many generations, and those that belong to no generation. */
  #wanted(generations = Infinity): ReadonlyMap<string, Processor> {
    const projectors = this.generations.wanted().slice(0, generations).flatMap(projectorsOf);
    const reactors = [this.sources, ...this.deciders, this.monitors, this.alerts, this.notices, this.deliveries];
    return new Map([...projectors, ...reactors].map((processor) => [processor.group.name, processor]));
  }

  async #start(group: string, processor: Processor): Promise<void> {
    const runner = new Runner(this.log, processor, { checkpointMs: this.checkpointMs, report: (...what) => this.#report(...what) });
    // While Kafka is away, `start` resolves only when the log is closed, and closing the log waits for this method.
    await Promise.race([runner.start(), this.#stopped.promise]);
    if (this.#stopping) return runner.stop();
    this.#runners.set(group, runner);
    void this.#tellCaughtUp(group, runner);
  }

  /** Removes the group from those that are behind once it has caught up. Tries again while the log is away. */
  async #tellCaughtUp(group: string, runner: Runner): Promise<void> {
    while (this.#runners.get(group) === runner && !this.#stopping) {
      const isCaughtUp = await runner.caughtUp().then(
        () => true,
        () => pause(againMs, false, { ref: false }),
      );
      if (isCaughtUp) return void this.#behind.delete(group);
    }
  }

  /** Logs how much is left to read, for as long as a group is behind. */
  async #tellProgress(): Promise<void> {
    await this.#last.catch(() => undefined);
    while (this.#behind.size > 0 && !this.#stopping) {
      await pause(toldMs, undefined, { ref: false });
      for (const group of this.#behind) {
        const records = await this.#runners
          .get(group)
          ?.lag()
          .catch(() => undefined);
        if (records) this.#logger.log(`${group} is not caught up with the log yet: ${records.toLocaleString('en')} records to go`);
      }
    }
  }

  async #end(group: string, runner: Runner): Promise<void> {
    this.#runners.delete(group);
    this.#behind.delete(group);
    await runner.stop();
  }

  /** The stack of what we throw ourselves says less than its causes, which the message has. */
  #report(message: string, error?: unknown): void {
    if (error === undefined) this.#logger.log(message);
    else this.#logger.error(message, error instanceof Error && !(error instanceof TelemetryError) ? error.stack : undefined);
  }

  #whyNot(): string | undefined {
    const stopped = Array.from(this.#runners).filter(([, runner]) => runner.figures().stoppedBy);
    if (stopped.length > 0) return `The log cannot be read any further for: ${stopped.map(([group]) => group).join(', ')}.`;
    if (this.#behind.size > 0) return `Not caught up with the log yet: ${Array.from(this.#behind).join(', ')}.`;
    return undefined;
  }
}

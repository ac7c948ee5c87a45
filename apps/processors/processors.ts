import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Metrics, Readiness } from '#edge';
import { CHECKPOINT_MS, RECORD_LOG, Runner, type RecordLog } from '#log';
import { EventProjector } from './event-projector.js';
import { runnerMetrics } from './runner-metrics.js';
import { SeriesProjector } from './series-projector.js';
import { SourceTracker } from './source-tracker.js';

/** Runs every processor as a consumer group of its own, from the start of the application until its last request is answered. */
@Injectable()
export class Processors implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #runners: ReadonlyMap<string, Runner>;
  readonly #behind: Set<string>;

  constructor(
    @Inject(RECORD_LOG) log: RecordLog,
    @Inject(CHECKPOINT_MS) checkpointMs: number,
    readiness: Readiness,
    metrics: Metrics,
    series: SeriesProjector,
    events: EventProjector,
    sources: SourceTracker,
  ) {
    const logger = new Logger('processors');
    const report = (message: string, error: unknown): void => logger.error(message, error instanceof Error ? error.stack : error);
    const processors = [series, events, sources];
    this.#runners = new Map(processors.map((processor) => [processor.group, new Runner(log, processor, { checkpointMs, report })]));
    this.#behind = new Set(this.#runners.keys());
    readiness.add(() => this.#whyNot());
    metrics.add(...runnerMetrics(this.#runners));
  }

  async onApplicationBootstrap(): Promise<void> {
    for (const [group, runner] of this.#runners) {
      await runner.start();
      runner.caughtUp().then(
        () => this.#behind.delete(group),
        () => undefined,
      );
    }
  }

  /** The last checkpoints are taken here: the log and the stores are closed later. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all(Array.from(this.#runners.values(), (runner) => runner.stop()));
  }

  #whyNot(): string | undefined {
    const stopped = Array.from(this.#runners).filter(([, runner]) => runner.figures().stoppedBy);
    if (stopped.length > 0) return `The log cannot be read any further for: ${stopped.map(([group]) => group).join(', ')}.`;
    if (this.#behind.size > 0) return `Not caught up with the log yet: ${Array.from(this.#behind).join(', ')}.`;
    return undefined;
  }
}

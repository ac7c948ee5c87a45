import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, Fleet, type Clock } from '#edge';
import { everySource, TelemetryError, type Alert, type Backtest, type Caller, type MonitorDefinition } from '#model';
import { Backtests } from '../../monitors/backtests.js';
import { checkWatchable } from '../../monitors/watchable.js';
import { BucketReader, type ReadBuckets } from '../chart/bucket-reader.js';
import { shownWindow, type Shown } from '../sources/window.js';
import type { TrialSize } from './monitor-form.js';

/** What a monitor would have done in a window that ends now. */
export interface Trial {
  /** About the source that it was tried on. */
  readonly definition: MonitorDefinition;
  readonly shown: Shown;
  readonly backtest: Pick<Backtest, 'points' | 'untilMs'>;
  /** Each as it ended, in the order of time; the last one may be open. */
  readonly alerts: readonly Alert[];
  readonly buckets: ReadBuckets;
}

/** Tries monitors on points that are stored. */
@Injectable()
export class Trials {
  constructor(
    private readonly fleet: Fleet,
    private readonly backtests: Backtests,
    private readonly buckets: BucketReader,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @param definition about the source that it is tried on. Rejects `invalid_body` for what has no backtest, `unknown_source`, and `store_unavailable`. */
  async run(caller: Caller, definition: MonitorDefinition, size: TrialSize): Promise<Trial> {
    const { sourceId, metric, threshold } = definition;
    if (sourceId === everySource) throw new TelemetryError('invalid_body', 'Fill in the source to try it on.');
    if (!threshold || metric === null) throw new TelemetryError('invalid_body', 'Fill in max or min to try it: silence is not tried.');
    checkWatchable(this.fleet, caller, sourceId);
    const shown = shownWindow(size, undefined, this.clock());
    const [backtest, buckets] = await Promise.all([
      this.backtests.run(caller.orgId, definition, shown.window),
      this.buckets.read(caller.orgId, sourceId, [metric], shown.window),
    ]);
    const { alerts } = backtest;
    const ended = alerts.filter(({ resolvedMs }, at) => resolvedMs !== null || at === alerts.length - 1);
    return { definition, shown, backtest, alerts: ended, buckets };
  }
}

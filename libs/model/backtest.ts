import type { Alert } from './alert.js';
import type { Monitor, MonitorDefinition } from './monitor.js';
import type { PointColumns } from './point.js';
import { afterPoints, unwatched, type WatchedSource } from './watched-source.js';

/** What one backtest looks at and tells at most. */
export const maxBacktestPoints = 1_000_000;
export const maxBacktestTransitions = 1_000;

/** What a threshold would have done with points of one source that are stored, told page by page. */
export class Backtest {
  readonly alerts: Alert[] = [];
  /** Points that were evaluated, those of one time too that differ in their tags. */
  points = 0;
  /** Everything before this time was evaluated. */
  untilMs: number;
  readonly #monitor: Monitor;
  #state: WatchedSource;

  /** @param definition has a threshold. @param startMs of the window. */
  constructor(orgId: string, definition: MonitorDefinition, startMs: number) {
    this.untilMs = startMs;
    this.#monitor = { ...definition, offline: null, orgId, monitorId: 'backtest', createdMs: 0, definedMs: 0 };
    this.#state = unwatched(orgId, definition.sourceId);
  }

  /** Whether the limits let it go on. */
  get isOver(): boolean {
    return this.points >= maxBacktestPoints || this.alerts.length >= maxBacktestTransitions;
  }

  /**
   * Evaluates the next points. Those of one time have to come together, since the worst of them counts.
   *
   * @param points in order of time, behind all that came before.
   * @param untilMs all points before this time came now or before.
   */
  take({ timestampMs, value }: PointColumns, untilMs: number): void {
    const { orgId, sourceId } = this.#state;
    const series = [{ metric: this.#monitor.metric!, tags: '', timestampMs, value }];
    // Stored points that were ahead when they came cannot be told apart: they count.
    const batch = { orgId, sourceId, receivedMs: timestampMs.at(-1) ?? 0, series };
    for (const { state, alerts } of afterPoints(this.#state, [this.#monitor], batch)) {
      this.#state = state;
      this.alerts.push(...alerts.slice(0, maxBacktestTransitions - this.alerts.length));
      if (this.alerts.length < maxBacktestTransitions) continue;
      this.untilMs = lastMs(this.alerts);
      return;
    }
    this.points += timestampMs.length;
    this.untilMs = untilMs;
  }
}

const lastMs = (alerts: readonly Alert[]): number => {
  const { triggeredMs, resolvedMs } = alerts.at(-1)!;
  return resolvedMs ?? triggeredMs;
};

import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, Questions, rowsIn, Slices, type Clock } from '#edge';
import { Backtest, maxAheadMs, maxRows, type MonitorDefinition, type Window } from '#model';
import type { RawColumns } from '#stores';

/** How long one backtest may take; what it has come to by then is its answer. */
const maxBacktestMs = 8_000;
/** Points that are evaluated without giving way to other work: a few milliseconds. */
const pointsOfStep = 2_000;

/** Has a threshold evaluated over points that are stored. */
@Injectable()
export class Backtests {
  constructor(
    private readonly questions: Questions,
    private readonly slices: Slices,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * What the threshold would have done in the window, as far as the limits of a `Backtest` and 8 seconds let it come: `untilMs` says how far.
   * Points that are ahead of the clock of this server do not count. Rejects as `Questions.ask` does.
   *
   * @param definition of one source, with a threshold.
   */
  async run(orgId: string, definition: MonitorDefinition, { startMs, endMs }: Window): Promise<Backtest> {
    const endedMs = performance.now() + maxBacktestMs;
    const test = new Backtest(orgId, definition, startMs);
    const window = { startMs, endMs: Math.min(endMs, this.clock() + maxAheadMs + 1) };
    const query = { orgId, sourceId: definition.sourceId, metrics: [definition.metric!], limit: maxRows };
    while (test.untilMs < window.endMs && !test.isOver && performance.now() < endedMs) {
      const rest = { startMs: test.untilMs, endMs: window.endMs };
      const { series, truncated } = await this.questions.ask(orgId, Math.min(maxRows, rowsIn(rest, 'raw')), (stores) =>
        stores.series.raw({ ...query, window: rest }),
      );
      const page = series[0] ?? { timestampMs: new Float64Array(), value: new Float64Array() };
      await this.slices.finish(orgId, steps(test, page, truncated ? undefined : window.endMs));
    }
    // The rest of the window lies in the future: count it as evaluated.
    if (test.untilMs >= window.endMs) test.untilMs = endMs;
    return test;
  }
}

/** @param endMs when the page holds all points before; undefined when points of its last time may be missing: they come with the next page. */
function* steps(
  test: Backtest,
  { timestampMs, value }: Pick<RawColumns, 'timestampMs' | 'value'>,
  endMs: number | undefined,
): Generator<void> {
  const length = endMs === undefined ? wholeTimes(timestampMs, timestampMs.length) : timestampMs.length;
  for (let from = 0; from < length && !test.isOver;) {
    const upTo = from + pointsOfStep >= length ? length : wholeTimes(timestampMs, from + pointsOfStep, from);
    test.take({ timestampMs: timestampMs.subarray(from, upTo), value: value.subarray(from, upTo) }, timestampMs[upTo - 1]! + 1);
    from = upTo;
    yield;
  }
  if (endMs !== undefined && !test.isOver) test.untilMs = endMs;
}

/** How many of the first `length` points may be evaluated, so that none of the others has the time of one of them; all, where they have one time. */
function wholeTimes(timestampMs: Float64Array, length: number, from = 0): number {
  let upTo = length - 1;
  while (upTo > from && timestampMs[upTo - 1] === timestampMs[length - 1]) upTo--;
  return upTo === from ? length : upTo;
}

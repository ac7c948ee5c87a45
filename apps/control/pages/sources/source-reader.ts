import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, Fleet, Questions, seriesOfSource, Slices, type Clock, type FleetMember } from '#edge';
import { compareUtf8, TelemetryError, type Alert, type Caller, type LogEntry, type Window } from '#model';
import type { BucketColumns } from '#stores';
import { AlertBook } from '../../alerts/alert-book.js';
import { BucketReader } from '../chart/bucket-reader.js';
import { maxSpans } from '../chart/chart.js';

/** Charts on one page. */
export const pageMetrics = 12;
/** Events on one page. */
export const pageEvents = 50;

const latestBackMs = 3_600_000;
const latestAheadMs = 600_000;

export interface SourceQuestion {
  readonly window: Window;
  /** The window goes up to now. */
  readonly isNow: boolean;
  /** Only metrics behind this name. */
  readonly after?: string | undefined;
}

export interface MetricSeries {
  readonly metric: string;
  readonly buckets: BucketColumns;
  /** In the last hour; undefined where there is none. */
  readonly newest: number | undefined;
}

export interface SourceView {
  readonly nowMs: number;
  readonly source: FleetMember;
  readonly sizeMs: number;
  /** Of one page. */
  readonly series: readonly MetricSeries[];
  readonly hasMoreMetrics: boolean;
  readonly metrics: number;
  /** Newest first. */
  readonly events: readonly LogEntry[];
  readonly hasMoreEvents: boolean;
  /** The newest of the source, open or not. */
  readonly alerts: readonly Alert[];
}

/** Reads what the page of a source shows. */
@Injectable()
export class SourceReader {
  constructor(
    private readonly fleet: Fleet,
    private readonly questions: Questions,
    private readonly buckets: BucketReader,
    private readonly slices: Slices,
    private readonly book: AlertBook,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Rejects `unknown_source`, and `store_unavailable`. */
  async read(caller: Caller, sourceId: string, question: SourceQuestion): Promise<SourceView> {
    const source = this.fleet.member(caller, sourceId);
    if (!source) throw new TelemetryError('unknown_source', 'Check the id: no source of your organization has it.');
    const { orgId } = caller;
    const nowMs = this.clock();
    const names = await this.questions.ask(orgId, seriesOfSource, ({ series }) => series.metricNames(orgId, sourceId));
    const { after } = question;
    const rest = after === undefined ? names : names.filter((name) => compareUtf8(name, after) > 0);
    const shown = rest.slice(0, pageMetrics);
    const [newest, buckets, events] = await Promise.all([
      this.#newest(orgId, sourceId, nowMs),
      this.buckets.read(orgId, sourceId, shown, question.window),
      this.#events(orgId, sourceId, question),
    ]);
    return {
      nowMs,
      source,
      sizeMs: buckets.sizeMs,
      series: shown.map((metric) => ({ metric, buckets: buckets.of(metric), newest: newest.get(metric) })),
      hasMoreMetrics: rest.length > shown.length,
      metrics: names.length,
      ...events,
      alerts: await this.slices.finish(orgId, this.book.list(caller, { sourceId, limit: maxSpans })),
    };
  }

  async #newest(orgId: string, sourceId: string, nowMs: number): Promise<ReadonlyMap<string, number>> {
    const window = { startMs: nowMs - latestBackMs, endMs: nowMs + latestAheadMs + 1 };
    return new Map(await this.questions.ask(orgId, seriesOfSource, ({ series }) => series.latest(orgId, sourceId, window)));
  }

  /** The newest of the window. What is ahead of the clock belongs to a window that goes up to now. */
  async #events(orgId: string, sourceId: string, { window, isNow }: SourceQuestion): Promise<Pick<SourceView, 'events' | 'hasMoreEvents'>> {
    const limit = pageEvents + 1;
    const whole = isNow ? { ...window, endMs: Infinity } : window;
    const found = await this.questions.ask(orgId, limit, ({ events }) => events.tail(orgId, sourceId, limit, undefined, whole));
    return { events: found.slice(-pageEvents).toReversed(), hasMoreEvents: found.length > pageEvents };
  }
}

import { spanText, type Severity, type Window } from '#model';
import type { BucketColumns } from '#stores';
import { html, type Html, type Piece } from '../html.js';
import { tableOf } from '../parts.js';
import { timeText } from '../times.js';
import { columnsOf, fewer, runsOf, type Column, type Columns } from './columns.js';
import { placeOn, scaleOf, valueText, type Scale } from './scale.js';
import { timeTicks } from './time-ticks.js';

/** A time in which an alert was open. */
export interface Span {
  readonly startMs: number;
  /** Null while it is open. */
  readonly endMs: number | null;
  readonly severity: Severity;
  /** For people. */
  readonly text: string;
}

/** What is drawn of one metric. */
export interface ChartData {
  /** Unique on the page. */
  readonly id: string;
  readonly metric: string;
  readonly window: Window;
  /** Size of the buckets, milliseconds. */
  readonly sizeMs: number;
  readonly buckets: BucketColumns;
  readonly spans: readonly Span[];
  /** Values at which a monitor fires. */
  readonly bounds?: readonly number[];
  /** Beside the name. */
  readonly aside?: Piece;
}

/** However many buckets there are, a chart has so many columns, and its table so many rows, at most. */
const maxColumns = 360;
const maxTableRows = 24;
/** Alerts that are drawn, the newest. */
export const maxSpans = 100;

const width = 1000;
const height = 160;
const leastSpanWidth = 2;

/**
 * The average as a line over the band from minimum to maximum, with gaps where there are no points. Of a bounded size. Times are in UTC. Only
 * shapes are stretched to the width that there is: texts stand at shares of it.
 */
export function chart(data: ChartData): Html {
  const { id, metric, window, aside } = data;
  const columns = columnsOf(data.buckets, window, data.sizeMs, maxColumns);
  const known = columns.all.filter((column) => column !== null);
  const plot = known.length === 0 ? html`<p class="quiet">No points in this window.</p>` : plotOf(data, columns, known);
  return html`<figure class="chart" data-part="chart ${metric}" aria-labelledby="${id}-name">
    <figcaption class="bar">
      <h3 id="${id}-name">${metric}</h3>
      ${aside}
    </figcaption>
    ${plot}
  </figure>`;
}

function plotOf({ id, metric, window, spans, bounds = [] }: ChartData, columns: Columns, known: readonly Column[]): Html {
  const low = Math.min(...known.map(({ min }) => min), ...bounds);
  const high = Math.max(...known.map(({ max }) => max), ...bounds);
  const scale = scaleOf(low, high);
  const runs = runsOf(columns.all);
  const shown = spans.filter(({ startMs, endMs }) => startMs < window.endMs && (endMs ?? Infinity) >= window.startMs).slice(-maxSpans);
  return html`<div class="plot">
      <svg height="${height + 24}" aria-hidden="true">
        ${scale.ticks.map(({ value, label }) => html`<text x="100%" dx="-8" y="${yOf(scale, value)}" dy="4" text-anchor="end">${label}</text>`)}
      </svg>
      <svg height="${height + 24}" role="img" aria-labelledby="${id}-title ${id}-desc">
        <title id="${id}-title">${metric}</title>
        <desc id="${id}-desc">${description(window, columns, known, runs.length - 1, shown.length)}</desc>
        <svg class="shapes" viewBox="0 0 ${width} ${height}" height="${height}" preserveAspectRatio="none">
          ${shown.map((span) => spanOf(span, window))}
        </svg>
        ${scale.ticks.map(({ value }) => html`<line class="grid" x2="100%" y1="${yOf(scale, value)}" y2="${yOf(scale, value)}" />`)}
        ${timeTicks(window).map(({ timestampMs, label, isDay }, nth) => timeTick(share(window, timestampMs), label, isDay, nth))}
        <svg class="shapes" viewBox="0 0 ${width} ${height}" height="${height}" preserveAspectRatio="none">
          ${shapes(columns, runs, window, scale)}
        </svg>
        ${bounds.map((bound) => html`<line class="bound" x2="100%" y1="${yOf(scale, bound)}" y2="${yOf(scale, bound)}" />`)}
      </svg>
    </div>
    ${table(metric, columns)}`;
}

function shapes(columns: Columns, runs: readonly (readonly number[])[], window: Window, scale: Scale): Html {
  const x = (at: number): number => {
    const place = share(window, columns.startMs + (at + 0.5) * columns.sizeMs);
    return tenth(width * Math.min(Math.max(place, 0), 1));
  };
  const y = (at: number, of: 'min' | 'max' | 'avg'): number => yOf(scale, columns.all[at]![of]);
  const band = runs.map((run) =>
    run.length === 1
      ? `M${x(run[0]!)} ${y(run[0]!, 'max')}V${y(run[0]!, 'min')}`
      : `M${run.map((at) => `${x(at)} ${y(at, 'max')}`).join('L')}L${run
          .toReversed()
          .map((at) => `${x(at)} ${y(at, 'min')}`)
          .join('L')}Z`,
  );
  const lines = runs.filter((run) => run.length > 1).map((run) => `M${run.map((at) => `${x(at)} ${y(at, 'avg')}`).join('L')}`);
  const dots = runs.filter((run) => run.length === 1).map(([at]) => `M${x(at!)} ${y(at!, 'avg')}h0`);
  return html`<path class="band" d="${band.join('')}" /> ${lines.length > 0 && html`<path class="line" d="${lines.join('')}" />`}
    ${dots.length > 0 && html`<path class="dots" d="${dots.join('')}" />`}`;
}

function spanOf({ startMs, endMs, severity, text }: Span, window: Window): Html {
  const from = width * Math.max(0, share(window, startMs));
  const to = width * Math.min(1, share(window, endMs ?? window.endMs));
  const [x, wide] = [tenth(Math.min(from, width - leastSpanWidth)), tenth(Math.max(leastSpanWidth, to - from))];
  return html`<g>
    <title>${text}</title>
    <rect class="span ${severity}" x="${x}" width="${wide}" height="${height}" />
    <rect class="span-mark ${severity}" x="${x}" width="${wide}" height="4" />
  </g>`;
}

/** Every second one is left out where there is little room, and one whose label would stand out of the plot has no label. */
function timeTick(at: number, label: string, isDay: boolean, nth: number): Html {
  const x = `${tenth(100 * at)}%`;
  const isInside = at > 0.03 && at < 0.97;
  const kind = `${isDay ? 'day' : 'hour'}${nth % 2 === 1 ? ' spare' : ''}`;
  return html`<line class="grid" x1="${x}" x2="${x}" y2="${height}" />
    ${isInside && html`<text class="${kind}" x="${x}" y="${height + 18}" text-anchor="middle">${label}</text>`}`;
}

function description(window: Window, columns: Columns, known: readonly Column[], gaps: number, alerts: number): string {
  const low = Math.min(...known.map(({ min }) => min));
  const high = Math.max(...known.map(({ max }) => max));
  const counted = (count: number, one: string): string => (count === 0 ? '' : ` ${count} ${one}${count === 1 ? '' : 's'}.`);
  return `From ${timeText(window.startMs)} to ${timeText(window.endMs)} UTC: values from ${valueText(low)} to ${valueText(high)}, ${spanText(columns.sizeMs)} to a step, on average ${valueText(known.at(-1)!.avg)} in the last one.${counted(gaps, 'gap')}${counted(alerts, 'alert')}`;
}

function table(metric: string, columns: Columns): Html {
  const { startMs, sizeMs, all } = fewer(columns, maxTableRows);
  const row = (column: Column | null, at: number): readonly Piece[] => [
    html`<time>${timeText(startMs + at * sizeMs)}</time>`,
    ...(column ? [column.avg, column.min, column.max].map(valueText) : [html`<span class="quiet">no points</span>`, '', '']),
    column?.count ?? 0,
  ];
  return html`<details>
    <summary>Numbers</summary>
    ${tableOf(
      `Numbers of ${metric}`,
      ['From', ...['Average', 'Minimum', 'Maximum', 'Points'].map((name) => ({ name, kind: 'number' }) as const)],
      all.map(row),
      `${spanText(sizeMs)} to a row, times in UTC`,
    )}
  </details>`;
}

const share = ({ startMs, endMs }: Window, ms: number): number => (ms - startMs) / (endMs - startMs);
const yOf = (scale: Scale, value: number): number => tenth(height * (1 - placeOn(scale, value)));
const tenth = (value: number): number => Math.round(10 * value) / 10;

import type { Headwater, LogEntry, RawSeries, Source } from '#client';
import { wireTime } from './csv-time.js';
import { Failure } from './failure.js';

/** What a source has sent comes as two histories, each in the order of time. */
export const kinds = ['points', 'events'] as const;
export type Kind = (typeof kinds)[number];

/** What is copied: start ≤ t < end, Unix milliseconds. */
export interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/** A part of a history. */
export interface Page {
  /** Points as `POST /ingest` takes them, as JSON. Those of one group must be in one body: equal events of one body are told apart by their number there. */
  readonly groups: readonly (readonly string[])[];
  /** Everything before this time is in this page or an earlier one, and nothing else is. */
  readonly untilMs: number;
  /** What this page should have and lacks, for a person. */
  readonly lacks?: string;
}

const pageSources = 1_000;
const pageEvents = 1_000;
const maxRows = 10_000;
/** Metrics to ask for by name at once, in bytes of a URL. */
const maxNameBytes = 8_000;

/** The ids of all sources behind `from`, as many at a time as one answer holds. */
export async function* sourcePages(headwater: Headwater, signal: AbortSignal, from = ''): AsyncGenerator<readonly string[], void> {
  for (let after: string | undefined = from, isMore = true; isMore;) {
    const page = await headwater.sources({ ...(after && { after }), limit: pageSources, signal });
    yield page.map(({ source_id: id }) => id);
    isMore = page.length === pageSources;
    after = page.at(-1)?.source_id;
  }
}

/** The points or events of a span, as many at a time as one answer holds. Whatever the source has, memory is that of one page. */
export const historyOf = (kind: Kind, source: Source, span: Span, signal: AbortSignal): AsyncGenerator<Page, void> =>
  kind === 'points' ? pointsOf(source, span, signal) : eventsOf(source, span, signal);

async function* pointsOf(source: Source, { startMs, endMs }: Span, signal: AbortSignal): AsyncGenerator<Page, void> {
  for (let fromMs = startMs; fromMs < endMs;) {
    const { series, truncated } = await source.points({ start: fromMs, end: endMs, signal });
    const lastMs = Object.values(series).reduce((last, { timestamp_ms: ms }) => Math.max(last, ms.at(-1) ?? -Infinity), -Infinity);
    // Some rows of the last time may have been cut off.
    const untilMs = truncated ? lastMs : endMs;
    const lines = Object.entries(series).flatMap((one) => linesOf(one, untilMs));
    const page = lines.length === 0 && truncated ? await pointsAt(source, lastMs, signal) : { groups: lines.map(alone), untilMs };
    yield page;
    fromMs = page.untilMs;
  }
}

function linesOf([metric, { timestamp_ms: times, value, tags }]: readonly [string, RawSeries], beforeMs: number): string[] {
  if (!tags) throw new Failure('An older server does not answer the tags of points: update it first.');
  const head = `{"metric":${JSON.stringify(metric)},"timestamp":`;
  const tail = (at: number): string => (Object.keys(tags[at]!).length > 0 ? `,"tags":${JSON.stringify(tags[at])}}` : '}');
  const kept = times.filter((ms) => ms < beforeMs);
  return kept.map((ms, at) => `${head}${wireTime(ms)},"value":${value[at]!}${tail(at)}`);
}

const alone = (line: string): readonly string[] => [line];

/** The points of one time, of which there are more than one answer holds: metric by metric. */
async function pointsAt(source: Source, timeMs: number, signal: AbortSignal): Promise<Page> {
  const lines: string[] = [];
  const cutOff: string[] = [];
  async function take(metrics: readonly string[]): Promise<void> {
    const { series, truncated } = await source.points({ start: timeMs, end: timeMs + 1, metrics, signal });
    if (truncated && metrics.length > 1) {
      const half = metrics.length >> 1;
      await take(metrics.slice(0, half));
      return take(metrics.slice(half));
    }
    if (truncated) cutOff.push(metrics[0]!);
    for (const metric of metrics.filter((name) => Object.hasOwn(series, name)))
      for (const line of linesOf([metric, series[metric]!], Infinity)) lines.push(line);
  }
  for (const metrics of byLength(await source.metrics({ signal }))) await take(metrics);
  return {
    groups: lines.map(alone),
    untilMs: timeMs + 1,
    ...(cutOff.length > 0 && { lacks: tooMany(`points of ${cutOff.join(' and ')}`, timeMs) }),
  };
}

/** Parts of a list that have room in a URL. */
function* byLength(names: readonly string[]): Generator<readonly string[]> {
  let some: string[] = [];
  let bytes = 0;
  for (const name of names) {
    const more = 3 * Buffer.byteLength(name) + 3;
    if (some.length > 0 && bytes + more > maxNameBytes) {
      yield some;
      [some, bytes] = [[], 0];
    }
    some.push(name);
    bytes += more;
  }
  if (some.length > 0) yield some;
}

async function* eventsOf(source: Source, { startMs, endMs }: Span, signal: AbortSignal): AsyncGenerator<Page, void> {
  for (let fromMs = startMs; fromMs < endMs;) {
    const entries = await source.logs({ start: fromMs, end: endMs, limit: pageEvents, signal });
    const lastMs = entries.length < pageEvents ? endMs : entries.at(-1)!.timestamp_ms;
    const page =
      entries[0]?.timestamp_ms === lastMs
        ? await eventsAt(source, lastMs, signal)
        : { groups: groupsOf(entries.filter(({ timestamp_ms: ms }) => ms < lastMs)), untilMs: lastMs };
    yield page;
    fromMs = page.untilMs;
  }
}

/** The events of one time, of which there are many. */
async function eventsAt(source: Source, timeMs: number, signal: AbortSignal): Promise<Page> {
  const entries = await source.logs({ start: timeMs, end: timeMs + 1, limit: maxRows, signal });
  const isFull = entries.length === maxRows;
  return { groups: groupsOf(entries), untilMs: timeMs + 1, ...(isFull && { lacks: tooMany('events', timeMs) }) };
}

/** Those of one time are a group. */
const groupsOf = (entries: readonly LogEntry[]): string[][] =>
  Array.from(Map.groupBy(entries, ({ timestamp_ms: ms }) => ms).values(), (some) => some.map(lineOf));

const lineOf = ({ timestamp_ms: ms, metric, value, tags }: LogEntry): string =>
  JSON.stringify({ class: 'event', metric, timestamp: wireTime(ms), value, tags });

const tooMany = (what: string, timeMs: number): string =>
  `there may be more than 10,000 ${what} at ${new Date(timeMs).toISOString()}, and the API answers no more of one time`;

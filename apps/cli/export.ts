import type { BucketColumns, Columns, RawColumns, Source } from '#client';
import { checkMetric, checkSourceId, parseInterval, parseWindow } from '#model';
import { command } from './command.js';
import { connect, connectionFlags } from './connection.js';
import { csvCell } from './csv.js';
import { writeAll } from './export-all.js';
import { Failure, flagged, usage } from './failure.js';
import { counted } from './text.js';

/** Together they hold every point there can be. */
const always = { start: '1970-01-01', end: '9999-12-31T23:59:59.999Z' };
const bucketColumns = ['min', 'max', 'avg', 'count'] as const;

export const body = command({
  about:
    'One line a time, one column a metric; an empty cell is no point. At an interval each metric has the columns min, max, avg and ' +
    'count. Times are ISO 8601 in UTC. What --interval raw writes, `headwater import` reads. Tags are not in the file, as queries do ' +
    'not answer them: points that differ in tags only are lines of one time, and `import` would keep the last of these. With --all, everything ' +
    'that the devices of the organization have sent, points with tags and events, a line for each body that POST /ingest takes.',
  flags: {
    ...connectionFlags,
    source: { value: 'ID', about: 'the source to read' },
    all: { about: 'all sources, as bodies of POST /ingest' },
    metric: { value: 'NAME', about: 'metric to write, else all; repeatable', many: true },
    last: { value: 'LENGTH', about: 'only the last 15m, 6h or 7d, say' },
    start: { value: 'TIME', about: 'from this time on, ISO 8601 (else from the first point)' },
    end: { value: 'TIME', about: 'before this time, ISO 8601 (else to the last point)' },
    interval: { value: 'INTERVAL', about: 'one of raw, 1m, 10m, 1h, 1d', default: 'raw' },
  },
  examples: [
    'headwater export --source press-7 --metric machine.temperature > temperature.csv',
    'headwater export --source press-7 --last 7d --interval 1h | gzip > week.csv.gz',
    'headwater export --source press-7 --start 2014-01-01 --end 2014-02-01 | headwater import - --source press-7-copy',
    'headwater export --all | gzip > everything.ndjson.gz',
  ],
  async run(flags, io) {
    if (flags.all === (flags.source !== undefined)) throw usage('Say what to export: --source with an id, or --all.');
    if (flags.all) return writeAll((await connect(flags, io)).headwater, (text) => io.data(text), io);
    const { start = always.start, end = always.end, last } = flags;
    const [flag, value] = last === undefined ? ['--start and --end', `${start} … ${end}`] : ['--last', last];
    const { startMs, endMs } = flagged(flag, value, () => parseWindow({ start, end, last }, Date.now()));
    const interval = flagged('--interval', flags.interval, parseInterval);
    const sourceId = flagged('--source', flags.source!, checkSourceId);
    const chosen = [...new Set(flags.metric.map((name) => flagged('--metric', name, checkMetric)))];
    const signal = io.interrupted;
    const source = (await connect(flags, io)).headwater.source(sourceId);
    const metrics = chosen.length > 0 ? chosen : await allMetrics(source, signal);
    const columns = interval === 'raw' ? rawColumns(metrics) : rollupColumns(metrics);
    const query = { metrics: chosen, interval, start: startMs, end: endMs, signal };
    await io.data(`${['timestamp', ...columns.map(({ header }) => csvCell(header))].join(',')}\n`);
    let [rows, repeated] = [0, 0];
    for await (const page of source.pages(query)) {
      const lines = linesOf(page, columns);
      rows += lines.length;
      repeated += lines.length - new Set(lines.map((line) => line.slice(0, line.indexOf(',')))).size;
      await io.data(lines.join(''));
      io.progress(() => counted(rows, 'row'));
    }
    io.note(`Wrote ${counted(rows, 'row')}.`);
    if (repeated === 0) return;
    io.note(
      `${counted(repeated, 'row')} of them ${repeated === 1 ? 'repeats' : 'repeat'} the time of another: their points differ in tags, which are not in the file. ` +
        '`headwater import` would keep the last row of each time; to copy all points, send them with their tags to POST /ingest.',
    );
  },
});

async function allMetrics(source: Source, signal: AbortSignal): Promise<readonly string[]> {
  const metrics = await source.metrics({ signal });
  if (metrics.length === 0) throw new Failure(`The source "${source.id}" has sent no metric: check its id (GET /v1/sources lists them).`);
  return metrics;
}

/** A column of the file: one array of one series. */
interface Column {
  readonly header: string;
  readonly metric: string;
  readonly cells: (columns: Columns) => Float64Array;
}

const rawColumns = (metrics: readonly string[]): readonly Column[] =>
  metrics.map((metric) => ({ header: metric, metric, cells: (columns) => (columns as RawColumns).values }));

const rollupColumns = (metrics: readonly string[]): readonly Column[] =>
  metrics.flatMap((metric) =>
    bucketColumns.map((name) => ({ header: `${metric}.${name}`, metric, cells: (columns: Columns) => (columns as BucketColumns)[name] })),
  );

/** The lines of a page; points of one metric and time, which differ in tags, are on lines of their own. */
function linesOf(page: readonly Columns[], columns: readonly Column[]): string[] {
  const rows = new Map<number, (number | '')[][]>();
  const series = new Map(page.map((one) => [one.metric, one]));
  for (const [at, { metric, cells }] of columns.entries()) {
    const found = series.get(metric);
    if (!found) continue;
    const values = cells(found);
    let [lastMs, same] = [-Infinity, 0];
    for (const [index, timestampMs] of found.timestamps.entries()) {
      same = timestampMs === lastMs ? same + 1 : 0;
      lastMs = timestampMs;
      let lines = rows.get(timestampMs);
      if (!lines) rows.set(timestampMs, (lines = []));
      const line = (lines[same] ??= Array.from(columns, () => ''));
      line[at] = values[index]!;
    }
  }
  const inOrder = Array.from(rows).toSorted(([a], [b]) => a - b);
  return inOrder.flatMap(([timestampMs, lines]) => lines.map((cells) => `${new Date(timestampMs).toISOString()},${cells.join(',')}\n`));
}

import { cellTimeMs, wireTime } from './csv-time.js';
import type { Columns } from './columns.js';
import type { CsvRow } from './csv.js';
import { BadFile } from './failure.js';

export const maxPoints = 10_000;
/** Below the server's limit of 5 MiB, with room for the text around the points. */
export const maxBytes = 4_500_000;
const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** A body for the ingest endpoint. */
export interface Batch {
  readonly body: string;
  readonly points: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Counts points of a metric that repeat the time of the point before. */
export class Repeats {
  readonly #lastMs = new Map<string, number>();
  /** Points with the same time as the one before. */
  points = 0;
  /** Whether times never go back. Only then are repeated times counted exactly. */
  ascends = true;

  add(metric: string, timestampMs: number): void {
    const lastMs = this.#lastMs.get(metric) ?? -Infinity;
    if (timestampMs === lastMs) this.points++;
    if (timestampMs < lastMs) this.ascends = false;
    this.#lastMs.set(metric, timestampMs);
  }
}

/** Gathers the points of rows into batches that the ingest endpoint takes. A row stands in one batch unless it is too large for one. */
export class Batches {
  readonly #head: string;
  readonly #metrics: readonly { readonly at: number; readonly metric: string; readonly head: string }[];
  #points: string[] = [];
  #bytes = 0;
  #firstMs = Infinity;
  #lastMs = -Infinity;

  constructor(
    sourceId: string,
    private readonly columns: Columns,
    private readonly repeats = new Repeats(),
  ) {
    this.#head = `{"source_id":${JSON.stringify(sourceId)},"points":[`;
    this.#metrics = columns.values.map(({ at, metric }) => ({ at, metric, head: `{"metric":${JSON.stringify(metric)},"timestamp":` }));
  }

  /** The batches that are complete with this row. @throws BadFile that names the line and column; nothing of the row is taken then. */
  add(row: CsvRow): readonly Batch[] {
    const timestampMs = this.#timeOf(row);
    const points = this.#pointsOf(row, timestampMs);
    const bytes = points.map((point) => Buffer.byteLength(point) + 1);
    const total = bytes.reduce((sum, more) => sum + more, 0);
    const done = this.#fits(points.length, total) ? [] : this.end();
    for (const [index, point] of points.entries()) {
      if (!this.#fits(1, bytes[index]!)) done.push(...this.end());
      this.#points.push(point);
      this.#bytes += bytes[index]!;
      this.#firstMs = Math.min(this.#firstMs, timestampMs);
      this.#lastMs = Math.max(this.#lastMs, timestampMs);
    }
    return done;
  }

  /** The points that no batch has yet: one batch or none. */
  end(): Batch[] {
    const points = this.#points;
    if (points.length === 0) return [];
    const batch = { body: `${this.#head}${points.join(',')}]}`, points: points.length, firstMs: this.#firstMs, lastMs: this.#lastMs };
    this.#points = [];
    this.#bytes = 0;
    this.#firstMs = Infinity;
    this.#lastMs = -Infinity;
    return [batch];
  }

  #fits(points: number, bytes: number): boolean {
    return this.#points.length + points <= maxPoints && this.#bytes + bytes <= maxBytes;
  }

  #timeOf({ line, cells }: CsvRow): number {
    const { width, time } = this.columns;
    if (cells.length !== width) throw new BadFile(`Line ${line} has ${cells.length} cells where the first line has ${width}.`);
    const timestampMs = cellTimeMs(cells[time]!);
    if (timestampMs === undefined)
      throw new BadFile(
        `Line ${line}, column ${time + 1}: "${shown(cells[time]!)}" is not a time: write ISO 8601 or Unix seconds or milliseconds, after 1970.`,
      );
    return timestampMs;
  }

  #pointsOf({ line, cells }: CsvRow, timestampMs: number): readonly string[] {
    const points = [];
    for (const { at, metric, head } of this.#metrics) {
      const cell = cells[at]!.trim();
      if (cell === '') continue;
      const value = decimal.test(cell) ? Number(cell) : NaN;
      if (!Number.isFinite(value))
        throw new BadFile(
          `Line ${line}, column ${at + 1} (${metric}): "${shown(cell)}" is not a number; leave a cell without a value empty.`,
        );
      this.repeats.add(metric, timestampMs);
      points.push(`${head}${wireTime(timestampMs)},"value":${value}}`);
    }
    return points;
  }
}

const shown = (cell: string): string => (cell.length > 40 ? `${cell.slice(0, 40)}…` : cell);

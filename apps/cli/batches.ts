import { cellTimeMs, wireTime } from './csv-time.js';
import type { Columns } from './columns.js';
import type { CsvRow } from './csv.js';
import { Failure } from './failure.js';

const maxPoints = 10_000;
/** Below the server's 5 MiB, with room for what stands around the points. */
const maxBytes = 4_500_000;
const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** A body for the ingest endpoint. */
export interface Batch {
  readonly body: string;
  readonly points: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Gathers the points of rows into batches that the ingest endpoint takes. A row stands in one batch unless it is too large for one. */
export class Batches {
  readonly #head: string;
  readonly #metrics: readonly { readonly at: number; readonly head: string; readonly bytes: number }[];
  #points: string[] = [];
  #bytes = 0;
  #firstMs = Infinity;
  #lastMs = -Infinity;

  constructor(
    sourceId: string,
    private readonly columns: Columns,
  ) {
    this.#head = `{"source_id":${JSON.stringify(sourceId)},"points":[`;
    this.#metrics = columns.values.map(({ at, metric }) => {
      const head = `{"metric":${JSON.stringify(metric)},"timestamp":`;
      return { at, head, bytes: Buffer.byteLength(head) };
    });
  }

  /** The batches that are complete with this row. @throws Failure that names the line and cell; nothing of the row is taken then. */
  *add(row: CsvRow): Generator<Batch> {
    const timestampMs = this.#timeOf(row);
    const points = this.#pointsOf(row, timestampMs);
    const bytes = points.reduce((sum, point) => sum + point.bytes, 0);
    if (!this.#fits(points.length, bytes)) yield* this.end();
    for (const point of points) {
      if (!this.#fits(1, point.bytes)) yield* this.end();
      this.#points.push(point.text);
      this.#bytes += point.bytes;
      this.#firstMs = Math.min(this.#firstMs, timestampMs);
      this.#lastMs = Math.max(this.#lastMs, timestampMs);
    }
  }

  /** What was gathered and not yet given. */
  *end(): Generator<Batch> {
    const points = this.#points;
    if (points.length === 0) return;
    const batch = { body: `${this.#head}${points.join(',')}]}`, points: points.length, firstMs: this.#firstMs, lastMs: this.#lastMs };
    this.#points = [];
    this.#bytes = 0;
    this.#firstMs = Infinity;
    this.#lastMs = -Infinity;
    yield batch;
  }

  #fits(points: number, bytes: number): boolean {
    return this.#points.length + points <= maxPoints && this.#bytes + bytes <= maxBytes;
  }

  #timeOf({ line, cells }: CsvRow): number {
    const { width, time } = this.columns;
    if (cells.length !== width) throw new Failure(`Line ${line} has ${cells.length} cells where the first line has ${width}.`);
    const timestampMs = cellTimeMs(cells[time]!);
    if (timestampMs === undefined)
      throw new Failure(
        `Line ${line}: "${shown(cells[time]!)}" is not a time: write ISO 8601 or Unix seconds or milliseconds, after 1970.`,
      );
    return timestampMs;
  }

  #pointsOf({ line, cells }: CsvRow, timestampMs: number): { text: string; bytes: number }[] {
    const points = [];
    for (const { at, head, bytes } of this.#metrics) {
      const cell = cells[at]!.trim();
      if (cell === '') continue;
      const value = decimal.test(cell) ? Number(cell) : NaN;
      if (!Number.isFinite(value)) throw new Failure(`Line ${line}: "${shown(cell)}" is not a number; leave a cell without a value empty.`);
      const tail = `${wireTime(timestampMs)},"value":${value}}`;
      points.push({ text: head + tail, bytes: bytes + tail.length + 1 });
    }
    return points;
  }
}

const shown = (cell: string): string => (cell.length > 40 ? `${cell.slice(0, 40)}…` : cell);

import { bucketStartMs } from '#model';
import type { Series } from './series-names.js';

const maxSources = 200;
/** A source with more cells is asked for alone. */
const maxCells = 64;
/** Partitions of one question: QuestDB opens each one in its spans, at about 8 memory maps, of which a process has 65,530. */
export const maxPartitions = 200;

/** A span of time [fromMs, toMs). */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** What to ask at once: some sources of an organization in some spans of time. */
export interface Question {
  readonly org: string;
  readonly sources: readonly string[];
  readonly spans: readonly Span[];
}

interface Sizes {
  readonly sizeMs: number;
  readonly cellMs: number;
  /** Time of one partition of what is asked. */
  readonly partitionMs: number;
}

/** For each cell of time the first and the last window in it. */
type Cells = Map<number, Span>;

/**
 * Few questions that cover all of these windows, and little else: sources that have windows in the same cells of time are asked for
 * together.
 */
export function questionsFor(windows: Iterable<readonly [Series, ReadonlySet<number>]>, sizes: Sizes): Question[] {
  const groups = Map.groupBy(bySource(windows, sizes), ({ org, source, cells }) => `${org}\0${together(source, cells)}`);
  const atOnce = Math.max(1, Math.floor(maxPartitions * Math.min(1, sizes.partitionMs / sizes.cellMs)));
  return [...groups.values()].flatMap((group) => {
    const { org } = group[0]!;
    const sources = chunks(
      group.map(({ source }) => source),
      maxSources,
    );
    // Cut before they are joined, so that a span has an end.
    return chunks(merged(group), atOnce).flatMap((cells) => sources.map((some) => ({ org, sources: some, spans: joined(cells) })));
  });
}

interface SourceCells {
  readonly org: string;
  readonly source: string;
  readonly cells: Cells;
}

function bySource(windows: Iterable<readonly [Series, ReadonlySet<number>]>, { sizeMs, cellMs }: Sizes): Iterable<SourceCells> {
  const sources = new Map<string, SourceCells>();
  for (const [{ org, source }, starts] of windows) {
    const key = `${org}\0${source}`;
    const its = sources.get(key) ?? { org, source, cells: new Map() };
    sources.set(key, its);
    for (const startMs of starts) widen(its.cells, bucketStartMs(startMs, cellMs), { fromMs: startMs, toMs: startMs + sizeMs });
  }
  return sources.values();
}

function widen(cells: Cells, cell: number, { fromMs, toMs }: Span): void {
  const span = cells.get(cell);
  cells.set(cell, span ? { fromMs: Math.min(span.fromMs, fromMs), toMs: Math.max(span.toMs, toMs) } : { fromMs, toMs });
}

/** Equal for sources that are asked for together. */
function together(source: string, cells: Cells): string {
  if (cells.size > maxCells) return `alone\0${source}`;
  return [...cells.keys()].sort((a, b) => a - b).join();
}

/** The cells of all of these, in order of time. */
function merged(group: readonly SourceCells[]): Span[] {
  const all: Cells = new Map();
  for (const { cells } of group) for (const [cell, span] of cells) widen(all, cell, span);
  return [...all.values()].sort((a, b) => a.fromMs - b.fromMs);
}

function joined(spans: readonly Span[]): Span[] {
  const result: Span[] = [];
  for (const span of spans) {
    const last = result.at(-1);
    if (last?.toMs === span.fromMs) result[result.length - 1] = { fromMs: last.fromMs, toMs: span.toMs };
    else result.push(span);
  }
  return result;
}

export function chunks<T>(values: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, at) => values.slice(at * size, (at + 1) * size));
}

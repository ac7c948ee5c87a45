import { noTags, tagsKey, type Tags } from '#model';
import { symbolsText } from './lines.js';

/** A series that was written to under a lease. */
export interface Series {
  /** 0, 1, 2, … in the order of first appearance. */
  readonly id: number;
  readonly org: string;
  readonly source: string;
  readonly metric: string;
  /** Behind a table's name in lines of the series. */
  readonly symbols: Buffer;
  /** The same with the tags last seen. */
  tagged: { readonly tags: string; readonly symbols: Buffer } | undefined;
  /** Newest of the late rows that may still wait, as of `lateRound`. */
  lateThroughMs: number;
  lateRound: number;
}

export const seriesKey = (org: string, source: string, metric: string): string => `${org}\0${source}\0${metric}`;

/** The metrics of a source. */
export type Source = Map<string, Series>;

/** Series by their names. */
export class SeriesNames {
  readonly all: Series[] = [];
  readonly #sources = new Map<string, Source>();

  source(org: string, source: string): Source {
    const key = `${org}\0${source}`;
    const known = this.#sources.get(key) ?? new Map<string, Series>();
    this.#sources.set(key, known);
    return known;
  }

  make(known: Source, org: string, source: string, metric: string): Series {
    const series: Series = {
      id: this.all.length,
      org,
      source,
      metric,
      symbols: Buffer.from(symbolsText({ org, source, metric })),
      tagged: undefined,
      lateThroughMs: 0,
      lateRound: -1,
    };
    this.all.push(series);
    known.set(metric, series);
    return series;
  }
}

/** What stands behind the table's name in lines of the series with these tags. */
export function symbolsWith(series: Series, tags: Tags): Buffer {
  const text = tags === noTags ? '' : tagsKey(tags);
  if (text === '') return series.symbols;
  if (series.tagged?.tags !== text) {
    series.tagged = { tags: text, symbols: Buffer.concat([series.symbols, Buffer.from(symbolsText({ tags: text }))]) };
  }
  return series.tagged.symbols;
}

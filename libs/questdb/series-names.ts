import { noTags, type Tags } from '#model';
import type { Mark } from '#stores';

const special = /[ ,=\\\n\r]/g;

/** Symbols of a line, as they stand behind the table's name. An empty value would be none at all and is left out. */
export function symbolsText(symbols: Readonly<Record<string, string>>): string {
  const parts = Object.entries(symbols).filter(([, value]) => value !== '');
  return parts.map(([name, value]) => `,${name}=${value.replace(special, '\\$&')}`).join('');
}

/** How far a writer has come with points that may be the same: those of a series with certain tags. */
export interface Progress extends Mark {
  /** Newest of the late rows that may still wait, as of `lateRound`. */
  lateThroughMs: number;
  lateRound: number;
}

/** A series with certain tags; the series itself where there are none. */
export interface TagSet {
  /** Behind a table's name in lines of it. */
  readonly symbols: Buffer;
  readonly progress: Progress;
}

/** A series that was written to under a lease. */
export interface Series extends TagSet {
  /** 0, 1, 2, … in the order of first appearance. */
  readonly id: number;
  readonly org: string;
  readonly source: string;
  readonly metric: string;
  /** Undefined until points come with tags. */
  tagged: Map<string, TagSet> | undefined;
}

export const sourceKey = (org: string, source: string): string => `${org}\0${source}`;

/** The metrics of a source. */
export type Source = Map<string, Series>;

/** Memory that a series takes, and a set of tags without its text. */
const seriesBytes = 600;
const tagSetBytes = 400;
/** How often the text of tags is kept: once as a string, once or twice as bytes. */
const copies = 3;

/** Series by their names. */
export class SeriesNames {
  readonly all: Series[] = [];
  /** What all of them take in memory, about. */
  bytes = 0;
  #tagSets = 0;
  readonly #sources = new Map<string, Source>();

  /** @param tagsAreKeys whether points that differ in tags only are different points. */
  constructor(private readonly tagsAreKeys: boolean) {}

  /** Series, and sets of tags in them. */
  get count(): number {
    return this.all.length + this.#tagSets;
  }

  source(org: string, source: string): Source {
    const key = sourceKey(org, source);
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
      progress: begun(),
      tagged: undefined,
    };
    this.all.push(series);
    this.bytes += seriesBytes;
    known.set(metric, series);
    return series;
  }

  /** What comes from now on of a source, or of one metric of it, is of new series. */
  forget(org: string, source: string, metric: string | null): void {
    const key = sourceKey(org, source);
    if (metric === null) this.#sources.delete(key);
    else this.#sources.get(key)?.delete(metric);
  }

  /** The series with these tags. */
  tagSet(series: Series, tags: Tags): TagSet {
    return tags === noTags ? series : (series.tagged?.get(tags) ?? this.#makeTagSet(series, tags));
  }

  #makeTagSet(series: Series, tags: Tags): TagSet {
    const symbols = Buffer.concat([series.symbols, Buffer.from(symbolsText({ tags }))]);
    const tagSet = { symbols, progress: this.tagsAreKeys ? begun() : series.progress };
    series.tagged ??= new Map();
    series.tagged.set(tags, tagSet);
    this.bytes += tagSetBytes + copies * tags.length + series.symbols.length;
    this.#tagSets++;
    return tagSet;
  }
}

const begun = (): Progress => ({ markMs: -Infinity, lateThroughMs: -Infinity, lateRound: -1 });

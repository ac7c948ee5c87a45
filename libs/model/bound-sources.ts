import type { Scope } from './organization.js';

/** Patterns that one key may have. */
export const maxBoundSources = 16;

/** The patterns of a key for every source. */
export const allSources: readonly string[] = ['*'];

/** A source id, the beginning of one and `*`, or `*` alone. */
export const boundSourcePattern = /^(\*|[A-Za-z0-9][A-Za-z0-9._:@+-]{0,255}\*?)$/;

/** One source, or all whose id begins with a text. */
export interface SourceRange {
  readonly text: string;
  readonly isPrefix: boolean;
}

/** The sources that a key is bound to. */
export class BoundSources {
  /** No two share a source; in the order of their sources. */
  readonly ranges: readonly SourceRange[];
  /** The same for the same sources. */
  readonly name: string;

  /** @param patterns source ids; one that ends with `*` is every id that begins so. */
  constructor(patterns: readonly string[]) {
    this.ranges = disjoint(patterns.map(rangeOf));
    this.name = JSON.stringify(this.ranges);
  }

  get patterns(): readonly string[] {
    return this.ranges.map(({ text, isPrefix }) => (isPrefix ? `${text}*` : text));
  }

  has(sourceId: string): boolean {
    return this.ranges.some((range) => covers(range, sourceId));
  }
}

/** Undefined for every source. */
export function boundSources(patterns: readonly string[]): BoundSources | undefined {
  return patterns.includes('*') ? undefined : new BoundSources(patterns);
}

/** What a key must not be given together, in words; undefined when there is nothing. */
export function flawOfRights(scopes: readonly Scope[], sources: readonly string[]): string | undefined {
  const isTooMuch = scopes.includes('admin') && boundSources(sources) !== undefined;
  return isTooMuch ? 'a key for some sources cannot have the scope admin: it could make a key for all of them' : undefined;
}

const rangeOf = (pattern: string): SourceRange =>
  pattern.endsWith('*') ? { text: pattern.slice(0, -1), isPrefix: true } : { text: pattern, isPrefix: false };

const covers = ({ text, isPrefix }: SourceRange, sourceId: string): boolean => (isPrefix ? sourceId.startsWith(text) : sourceId === text);

function disjoint(ranges: readonly SourceRange[]): readonly SourceRange[] {
  const kept: SourceRange[] = [];
  // Whatever covers a range comes before it.
  const inOrder = ranges.toSorted((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : Number(b.isPrefix) - Number(a.isPrefix)));
  for (const range of inOrder) if (!kept.some((one) => covers(one, range.text))) kept.push(range);
  return kept;
}

import type { Topic } from './topic.js';

export const VIEWS = Symbol('Views');

/** A change of one key; a null value means that the key is gone. */
export interface Change<V> {
  readonly key: string;
  readonly value: V | null;
}

/** Which of the entries of a scan are wanted. */
export interface Page {
  /** Those behind this key. */
  readonly after: string;
  /** The first so many of them. */
  readonly limit: number;
}

const pageEntries = 1024;

/**
 * The entries of a scan, in pages, for work that gives way after each one. The view may change between two pages: every key that is there all the
 * time comes once.
 *
 * @param after only entries behind this key.
 */
export function* pagesOf<V>(
  view: Pick<View<V>, 'scan'>,
  prefix: string,
  after = '',
): Generator<readonly (readonly [key: string, value: V])[]> {
  for (let last = after; ;) {
    const page = [...view.scan(prefix, { after: last, limit: pageEntries })];
    if (page.length > 0) yield page;
    if (page.length < pageEntries) return;
    last = page.at(-1)![0];
  }
}

/** A compacted topic followed in memory: about a million keys, to which those who write the topic keep; see `maxKeys` of a table. */
export interface View<V> {
  get(key: string): V | undefined;
  /** Keys that have a value. */
  readonly size: number;
  /** Entries whose key begins with `prefix`, ordered by key in UTF-8 bytes: all of them, or those of one page. */
  scan(prefix: string, page?: Page): Iterable<readonly [key: string, value: V]>;
  /** How many entries there are whose key begins with `prefix`, without a look at each of them. */
  count(prefix: string): number;
  /**
   * Calls `listener` for each change after the call, once the view is ready: those of a key in log order, after the view shows it. Returns a
   * function that ends this. After a gap in which tombstones may have been lost the view is read again, while it shows what it showed; then it changes over in one step, and
   * of each key that differs the listener hears once.
   */
  changes(listener: (change: Change<V>) => void): () => void;
  /**
   * Resolves with the value of a key (undefined when it has none) as soon as the view is ready and shows one that fits. Rejects
   * `log_unavailable` after `ms` milliseconds.
   */
  until(key: string, predicate: (value: V | undefined) => boolean, ms: number): Promise<V | undefined>;
  /** Resolves when the view holds all that was in the topic when it was opened. Until then `get` and `scan` may miss keys. */
  readonly ready: Promise<void>;
  /** Resolves when the view holds all that was in the topic at the call. Rejects `log_unavailable` when that takes too long. */
  caughtUp(): Promise<void>;
  /** Milliseconds since the view last held all that was in the log. */
  ageMs(): number;
}

/** The newest record of a key in one partition of a compacted topic, when it cannot be decoded. */
export interface UnreadableKey {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
  readonly reason: string;
}

export interface Views {
  /** The view of a compacted topic; one per topic and process, opened at the first call. */
  open<V>(topic: Topic<V>): View<V>;
  /**
   * What the views that are open cannot show, at most one for each key and partition: until a newer record or a tombstone of that key comes.
   * The topic says what becomes of such a key.
   */
  unreadableKeys(): readonly UnreadableKey[];
}

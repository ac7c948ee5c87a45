import type { EventBatch, PointBatch } from './point.js';

/** What the server knows of a request besides its body. */
export interface IngestContext {
  readonly orgId: string;
  /** Server receive time, Unix milliseconds: the time of every point that has none. */
  readonly receivedMs: number;
  /** The source of all points, whatever the body says of sources; undefined where the body has the word. */
  readonly sourceId?: string | undefined;
}

/** What a body says, ready for the log. */
export interface Accepted {
  /** One for each source with numeric points, in the order of their first point; see `cutPoints` for their size. */
  readonly points: readonly PointBatch[];
  /** One for each source with events, in the order of their first event; see `cutEvents`. */
  readonly events: readonly EventBatch[];
  /** Points and events in the body. */
  readonly count: number;
  /** Set when the body names exactly one source. */
  readonly sourceId: string | undefined;
}

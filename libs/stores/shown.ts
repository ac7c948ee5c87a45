import type { ShownFrom, Window } from '#model';
import type { EventStore } from './event-store.js';
import type { Stores } from './generations.js';
import type { SeriesStore } from './series-store.js';

/** What readers ask the stores. */
export interface ShownStores {
  readonly series: Pick<SeriesStore, 'metricNames' | 'latest' | 'raw' | 'buckets' | 'fleet'>;
  readonly events: Pick<EventStore, 'window' | 'tail'>;
}

const none = new Float64Array(0);
const noColumns = { timestampMs: none, min: none, max: none, avg: none, count: none };

/** Stores that answer as if there were nothing from before these times. Names of metrics are shown whatever there is of them. */
export function shownStores({ series, events }: Stores, from: ShownFrom): ShownStores {
  return {
    series: {
      metricNames: (orgId, sourceId) => series.metricNames(orgId, sourceId),
      latest: (orgId, sourceId, window) => within(window, from.raw, [], (shown) => series.latest(orgId, sourceId, shown)),
      raw: (query) => within(query.window, from.raw, { series: [], truncated: false }, (window) => series.raw({ ...query, window })),
      buckets: (query) =>
        within(query.window, from[query.interval], { series: [], truncated: false }, (window) => series.buckets({ ...query, window })),
      fleet: (query) =>
        within(query.window, from[query.interval], { sources: [], columns: noColumns, truncated: false }, (window) =>
          series.fleet({ ...query, window }),
        ),
    },
    events: {
      window: (orgId, sourceId, window, limit, name) =>
        within(window, from.events, [], (shown) => events.window(orgId, sourceId, shown, limit, name)),
      tail: (orgId, sourceId, count, name, window = { startMs: 0, endMs: Infinity }) =>
        within(window, from.events, [], (shown) => events.tail(orgId, sourceId, count, name, shown)),
    },
  };
}

/** Asks for what is left of a window that begins no earlier than a time: a store would move the start of a window without length down to a bucket's edge. */
async function within<T>(window: Window, fromMs: number, nothing: T, ask: (window: Window) => Promise<T>): Promise<T> {
  if (fromMs <= window.startMs) return ask(window);
  return fromMs < window.endMs ? ask({ startMs: fromMs, endMs: window.endMs }) : nothing;
}

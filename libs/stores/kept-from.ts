import type { Interval } from '#model';

/** What is kept for a time of its own: points, the stored buckets of each size, and events. */
export const keptKinds = ['raw', '1m', '1h', '1d', 'events'] as const;
export type KeptKind = (typeof keptKinds)[number];

/** Of each kind the first moment that is kept, the beginning of a day in UTC; whatever is coarser begins no later. */
export type KeptFrom = Readonly<Record<KeptKind, number>>;

export const keptFromTheBeginning: KeptFrom = { raw: 0, '1m': 0, '1h': 0, '1d': 0, events: 0 };

/** The stored rows by which an interval is answered. */
export const keptKindOf: Readonly<Record<Interval, KeptKind>> = { raw: 'raw', '1m': '1m', '10m': '1m', '1h': '1h', '1d': '1d' };

/** The later moment of each kind. */
export const laterOf = (one: KeptFrom, other: Partial<KeptFrom>): KeptFrom => ({
  raw: Math.max(one.raw, other.raw ?? 0),
  '1m': Math.max(one['1m'], other['1m'] ?? 0),
  '1h': Math.max(one['1h'], other['1h'] ?? 0),
  '1d': Math.max(one['1d'], other['1d'] ?? 0),
  events: Math.max(one.events, other.events ?? 0),
});

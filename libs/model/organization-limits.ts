/**
 * The names that every new one of takes memory for good: of sources, of series (a metric or an event name of one source), and of tag sets of
 * metric points.
 */
export const nameKinds = ['sources', 'series', 'tag_sets'] as const;
export type NameKind = (typeof nameKinds)[number];

/** How many names of each kind may be active. */
export type NameLimits = Readonly<Record<NameKind, number>>;

/** What the rate of an organization, or of each of its keys, may be limited in, a second. Bytes are those of bodies once they are inflated. */
export const rateNames = [
  'points_per_s',
  'requests_per_s',
  'bytes_per_s',
  'key_points_per_s',
  'key_requests_per_s',
  'key_bytes_per_s',
] as const;
export type RateName = (typeof rateNames)[number];

/** For how many hours an organization sees its points, its buckets of each resolution, and its events. All of it is kept at least as long. */
export const keepNames = ['keep_points_hours', 'keep_1m_hours', 'keep_1h_hours', 'keep_1d_hours', 'keep_events_hours'] as const;
export type KeepName = (typeof keepNames)[number];

export type LimitName = NameKind | RateName | KeepName;

/** The limits that an organization may have, as its record and the command line name them. */
export const limitNames: readonly LimitName[] = [...nameKinds, ...rateNames, ...keepNames];

/**
 * The limits that an organization has of its own. Without one for a kind of names the process has a default; without one for a rate there
 * is none, and what has no hours is shown for as long as the installation keeps it. A newer version may have set others, which stay.
 */
export type OrganizationLimits = Readonly<Partial<Record<LimitName, number>>>;

/** What is finer is not kept for longer than what is coarser. */
const finestFirst = keepNames.filter((name) => name !== 'keep_events_hours');
const leastHours = 24;

/** Why an organization cannot have these limits, in words that say what to change; undefined when it can. */
export function flawOfLimits(limits: OrganizationLimits): string | undefined {
  const hours = (name: KeepName): number => limits[name] ?? Infinity;
  const short = keepNames.find((name) => hours(name) < leastHours);
  if (short) return `${short} must be at least ${leastHours}.`;
  const at = finestFirst.findIndex((name, nth) => nth > 0 && hours(name) < hours(finestFirst[nth - 1]!));
  return at < 0 ? undefined : `${finestFirst[at]} must be at least ${finestFirst[at - 1]}, which is for ever unless you set it.`;
}

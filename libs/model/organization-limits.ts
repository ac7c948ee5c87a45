import { nameKinds, type NameKind } from './active-names.js';

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

export type LimitName = NameKind | RateName;

/** The limits that an organization may have, as its record and the command line name them. */
export const limitNames: readonly LimitName[] = [...nameKinds, ...rateNames];

/**
 * The limits that an organization has of its own. Without one for a kind of names the process has a default; without one for a rate there
 * is none. A newer version may have set others, which stay.
 */
export type OrganizationLimits = Readonly<Partial<Record<LimitName, number>>>;

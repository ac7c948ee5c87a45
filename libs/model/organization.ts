import type { OrganizationLimits } from './organization-limits.js';

export interface Organization {
  readonly orgId: string;
  readonly name: string;
  /** Without one its keys may neither ingest nor read. */
  readonly paymentMethodOnFile: boolean;
  readonly createdMs: number;
  readonly limits: OrganizationLimits;
  /** Whether its keys need the scope `read` for reading, and `write` for what any key may change otherwise. */
  readonly enforceReadScope: boolean;
  /** When it was deleted, Unix milliseconds; null while it is not. Then nobody is let in, and what it has is being removed. */
  readonly deletedMs: number | null;
}

/** The organization that the first start makes, always the same: it is the operator's. */
export const operatorOrgId = 'org_0000000000000001';

export const scopes = ['read', 'write', 'admin'] as const;
export type Scope = (typeof scopes)[number];

/** An API key as it is stored: never the key itself. */
export interface ApiKey {
  readonly keyId: string;
  readonly orgId: string;
  readonly name: string;
  /** SHA-256 of the whole key, 64 hex digits. */
  readonly sha256: string;
  /** First 8 and last 4 characters, for display. */
  readonly prefix: string;
  readonly suffix: string;
  readonly scopes: readonly Scope[];
  readonly createdMs: number;
  /** The sources that it is for; see `BoundSources`. */
  readonly sources: readonly string[];
  /** Id of the key or the account that made it, or `operator` for the command line and the first start; empty where nobody knows. */
  readonly createdBy: string;
}

import type { OrganizationLimits } from './organization-limits.js';

export interface Organization {
  readonly orgId: string;
  readonly name: string;
  /** Without one its keys may neither ingest nor read. */
  readonly paymentMethodOnFile: boolean;
  readonly createdMs: number;
  readonly limits: OrganizationLimits;
}

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
}

/** Who makes a request: what a valid key says of its bearer. */
export interface Caller {
  readonly orgId: string;
  readonly keyId: string;
  readonly scopes: readonly Scope[];
}

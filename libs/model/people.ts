/** What somebody may do in an organization: a viewer reads, a member also manages keys and monitors, an owner also people and keys with the scope `admin`. */
export const personRoles = ['owner', 'member', 'viewer'] as const;
export type PersonRole = (typeof personRoles)[number];

/** A person who can sign in. */
export interface Account {
  readonly accountId: string;
  /** As `normalEmail` writes it: no two accounts have one. */
  readonly email: string;
  /** What the password is checked against, with its parameters; never the password. */
  readonly passwordDigest: string;
  readonly createdMs: number;
  /** A link that sets another password, once: the newest one that was made; null where there is none. */
  readonly reset: PasswordReset | null;
  /** Who signs in to it by an OpenID provider; null until that has happened. No two accounts have one. */
  readonly identity: Identity | null;
}

/** Who somebody is to an OpenID provider. */
export interface Identity {
  /** The provider, as its issuer URL. */
  readonly issuer: string;
  /** Its id of the person, which it gives to nobody else. */
  readonly subject: string;
}

/** Somebody for whom an OpenID provider vouches. */
export interface Vouched extends Identity {
  /** As the provider says it; empty where it says none. */
  readonly email: string;
  /** Whether the provider knows that the address is the person's. */
  readonly isVerified: boolean;
}

/** What somebody who signs up brings. */
export type NewAccount = Pick<Account, 'accountId' | 'email' | 'passwordDigest' | 'identity'>;

export interface PasswordReset {
  /** SHA-256 of the secret in the link, 64 hex digits. */
  readonly sha256: string;
  readonly expiresMs: number;
}

/** That somebody belongs to an organization. An account may have many. */
export interface Membership {
  readonly orgId: string;
  readonly accountId: string;
  readonly role: PersonRole;
  readonly sinceMs: number;
}

/** A link by which one person joins an organization, once. */
export interface Invitation {
  /** Digest of the secret in the link. */
  readonly invitationId: string;
  readonly orgId: string;
  readonly role: PersonRole;
  /** Who may use it; empty for whoever has the link. */
  readonly email: string;
  /** Id of the account that made it, or `operator`. */
  readonly invitedBy: string;
  readonly expiresMs: number;
}

/** How long an invitation can be used. */
export const invitationMs = 7 * 24 * 3_600_000;
/** How long a link that sets another password can be used when the operator has made it, and when it came by mail. */
export const resetMs = 24 * 3_600_000;
export const mailedResetMs = 3_600_000;

const maxEmailBytes = 254;

/** The address as it is compared and kept; undefined when it is none. What stands before the @ belongs to its server, but nobody keeps two people apart by its case. */
export function normalEmail(text: string): string | undefined {
  const email = text.trim().normalize('NFC').toLowerCase();
  return /^[^\s@\p{Cc}]+@[^\s@\p{Cc}.]+(\.[^\s@\p{Cc}.]+)*$/u.test(email) && Buffer.byteLength(email) <= maxEmailBytes ? email : undefined;
}

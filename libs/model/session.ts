/** How long a session lasts after its last use. */
export const sessionMs = 30 * 24 * 3_600_000;
/** The use of a session is written when the one before is older. */
export const sessionUseMs = 24 * 3_600_000;
/** Sessions of one account: a new one ends those that were used longest ago. */
export const maxSessions = 50;

/** That somebody has signed in: what a browser shows in place of a password. */
export interface Session {
  /** From the digest of its token. */
  readonly sessionId: string;
  readonly accountId: string;
  /** SHA-256 of the token, 64 hex digits. */
  readonly sha256: string;
  /** Which password let somebody in, see `credentialOf`: another password ends the session. */
  readonly credential: string;
  readonly createdMs: number;
  /** Where it was begun: as the connection or a trusted proxy tells it; empty where nobody knows. */
  readonly address: string;
  /** The browser, as it calls itself. */
  readonly agent: string;
}

/**
 * When a session was last used, to a day. It stands in a record of its own, so that a use that is written while the session is ended does
 * not bring it back.
 */
export interface SessionUse {
  readonly sessionId: string;
  /** Unix milliseconds. */
  readonly usedMs: number;
  readonly address: string;
}

/** When a session was used or, without a use, begun, Unix milliseconds. */
export const lastUseMs = ({ createdMs }: Session, use: SessionUse | undefined): number => Math.max(createdMs, use?.usedMs ?? 0);

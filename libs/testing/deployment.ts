/** Where a deployment listens; the three may be one address. */
export interface Urls {
  readonly api: string;
  readonly ingest: string;
  readonly app: string;
}

/** The keys that tests need. */
export interface Keys {
  /** Scopes `read`, `write` and `admin`, of an organization with a payment method on file. */
  readonly own: string;
  /** The same of a second organization. */
  readonly other: string;
  /** The same of an organization without a payment method; undefined where there is none. */
  readonly unpaid: string | undefined;
}

/** Somebody who can sign in. */
export interface Credentials {
  readonly email: string;
  readonly password: string;
}

/** The people that tests need. */
export interface People {
  /** Owns the first organization. */
  readonly owner: Credentials;
  /** Owns the second one. */
  readonly otherOwner: Credentials;
  /** Belongs to none. */
  readonly stranger: Credentials;
}

/** A whole service that a test may break and mend. Nothing here says which shape it has. */
export interface Deployment {
  /** Changes with a restart. */
  readonly urls: Urls;
  readonly keys: Keys;
  /** Ends everything that holds state where it stands, without a chance to finish, and starts it again. Resolves when it serves. */
  crash(): Promise<void>;
  /** Stops in order and starts again. */
  restart(): Promise<void>;
  /** Resolves when all that was accepted is readable everywhere and no consumer group has records left to take. */
  settle(): Promise<void>;
  /** Makes every projection again from the log; resolves when readers use the new ones. */
  rebuild(): Promise<void>;
  stop(): Promise<void>;
}

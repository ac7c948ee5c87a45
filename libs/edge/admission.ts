import { Injectable } from '@nestjs/common';
import { TelemetryError, type Caller } from '#model';
import type { Access } from './access.js';
import { FailedKeys } from './failed-keys.js';
import { Keyring } from './keyring.js';
import { Organizations } from './organizations.js';
import { Readiness } from './readiness.js';

/** What somebody shows to be let in. */
export interface Credential {
  /** Undefined when there was none. */
  readonly apiKey: string | undefined;
  /** Where it belongs, as a client is told: `the x-api-key header`. */
  readonly place: string;
}

/**
 * The door: says who is let in, whatever way a credential comes, before anything else is read. Who is let in for longer than one request
 * listens to `Keyring.revoked`.
 */
@Injectable()
export class Admission {
  constructor(
    private readonly keyring: Keyring,
    private readonly organizations: Organizations,
    private readonly failedKeys: FailedKeys,
    private readonly readiness: Readiness,
  ) {}

  /**
   * @param address where the credential comes from; undefined when the connection has just been reset.
   * @throws TelemetryError with the first reason why not: `not_ready`, `invalid_key` (or `log_unavailable` while the log is silent, or
   * `too_many_failed_keys`), `payment_required`, `missing_scope`.
   */
  admit(credential: Credential, address: string | undefined, access: Pick<Access, 'payment' | 'scope'>): Caller {
    if (!this.readiness.isOpen)
      throw new TelemetryError('not_ready', 'The server has just started: it is still reading what it must know.');
    const caller = this.#callerOf(credential, address);
    if (access.payment !== false && !this.organizations.hasPaymentMethod(caller.orgId))
      throw new TelemetryError('payment_required', 'Put a payment method on file for the organization of this key.');
    if (access.scope && !caller.scopes.includes(access.scope))
      throw new TelemetryError('missing_scope', `Use a key with the scope ${access.scope}.`);
    return caller;
  }

  #callerOf({ apiKey, place }: Credential, address: string | undefined): Caller {
    const caller = apiKey === undefined ? undefined : this.keyring.verify(apiKey);
    if (caller) return caller;
    if (apiKey) this.failedKeys.add(address, apiKey);
    throw new TelemetryError('invalid_key', `Send a valid API key in ${place}.`);
  }
}

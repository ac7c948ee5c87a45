import { Injectable, Optional } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { enforcedFor, scopeFor, TelemetryError, type Caller, type Permission, type Person } from '#model';
import type { Access } from './access.js';
import { FailedKeys } from './failed-keys.js';
import { KeyUses } from './key-uses.js';
import { Keyring } from './keyring.js';
import { Organizations } from './organizations.js';
import { Visitors } from './people/visitors.js';
import { Readiness } from './readiness.js';

/** The query parameter by which a stream says what other requests say in the header `x-organization-id`. */
export const organizationParameter = 'organization_id';

/** What somebody shows to be let in. */
export interface Credential {
  /** Undefined when there was none. */
  readonly apiKey: string | undefined;
  /** Where it belongs, as a client is told: `the x-api-key header`. */
  readonly place: string;
}

/**
 * The door: says who is let in, whatever way a credential comes, before anything else is read. Who is let in for longer than one request
 * listens to `revoked`.
 */
@Injectable()
export class Admission {
  constructor(
    private readonly keyring: Keyring,
    private readonly organizations: Organizations,
    private readonly failedKeys: FailedKeys,
    readonly readiness: Readiness,
    private readonly uses: KeyUses,
    /** Undefined in a role that people do not come to. */
    @Optional() readonly visitors?: Visitors,
  ) {}

  /**
   * @param address where the credential comes from; undefined when the connection has just been reset.
   * @throws TelemetryError with the first reason why not: `not_ready`, `invalid_key` (or `log_unavailable` while the log is silent, or
   * `too_many_failed_keys`), `payment_required`, `missing_scope`.
   */
  admit(credential: Credential, address: string | undefined, access: Pick<Access, 'payment' | 'scope' | 'changes'>): Caller {
    this.readiness.check();
    const caller = this.#callerOf(credential, address);
    this.uses.note(caller, address);
    orThrow(access.payment !== false && this.#unpaid(caller));
    if (access.scope && !caller.scopes.includes(access.scope))
      throw new TelemetryError('missing_scope', `Use a key with the scope ${access.scope}.`);
    orThrow(!access.scope && access.payment !== false && this.#lacking(caller, access.changes ? 'write' : 'read'));
    return caller;
  }

  /**
   * Lets in a key or a session that may do this. Where there is a key, the session does not count.
   *
   * @throws TelemetryError as `admit` does, and `cross_site`, `no_organization` or `missing_role` for who has signed in.
   */
  admitTo(may: Permission, request: FastifyRequest, credential: Credential, access: Pick<Access, 'payment' | 'stream'>): Caller {
    this.readiness.check();
    const person = credential.apiKey === undefined ? this.visitors?.personOf(request) : undefined;
    const organization = (request.headers['x-organization-id'] as string | undefined) ?? (access.stream && organizationIn(request));
    const caller = person
      ? this.visitors!.callerOf(person, organization, may)
      : this.#callerOf({ ...credential, place: `${credential.place}, or sign in` }, request.ip);
    if (!person) this.uses.note(caller, request.ip);
    orThrow(access.payment !== false && this.#unpaid(caller));
    if (!person) checkScope(caller, may);
    orThrow(this.#lacking(caller, enforcedFor(may)));
    return caller;
  }

  /** Lets in somebody who has signed in. @throws TelemetryError `not_ready`, `not_signed_in`, `cross_site`, or `log_unavailable`. */
  admitPerson(request: FastifyRequest): Person {
    this.readiness.check();
    const person = this.visitors?.personOf(request);
    if (!person) throw new TelemetryError('not_signed_in', 'Sign in with POST /api/auth/sign-in, and keep its cookie.');
    return person;
  }

  /** Calls the listener once when the key or the session that let a caller in no longer does. Returns what ends the listening. */
  revoked(caller: Caller, listener: () => void): () => void {
    return caller.person ? this.visitors!.revoked(caller, listener) : this.keyring.revoked(caller, listener);
  }

  /**
   * Why a caller who reads for longer than one request may read no more, as the organization is now: `payment_required` or `missing_scope`. Nobody
   * is told of that: ask now and then.
   */
  refusalOf(caller: Caller): TelemetryError | undefined {
    return this.#unpaid(caller) ?? this.#lacking(caller, 'read');
  }

  /** Where an organization says so, a key needs the scope for what any key may do otherwise. */
  #lacking({ orgId, scopes, person }: Caller, scope: 'read' | 'write' | undefined): TelemetryError | undefined {
    if (!scope || person || scopes.includes(scope) || !this.organizations.enforcesReadScope(orgId)) return undefined;
    return new TelemetryError('missing_scope', `Use a key with the scope ${scope}: its organization enforces it.`);
  }

  #unpaid({ orgId }: Caller): TelemetryError | undefined {
    if (this.organizations.hasPaymentMethod(orgId)) return undefined;
    return new TelemetryError('payment_required', 'Put a payment method on file for the organization of this key.');
  }

  #callerOf({ apiKey, place }: Credential, address: string | undefined): Caller {
    const caller = apiKey === undefined ? undefined : this.keyring.verify(apiKey);
    if (caller) return caller;
    if (apiKey) this.failedKeys.add(address, apiKey);
    throw new TelemetryError('invalid_key', `Send a valid API key in ${place}.`);
  }
}

/** Neither `EventSource` nor `WebSocket` lets a page set a header. */
const organizationIn = ({ url }: FastifyRequest): string | undefined =>
  new URLSearchParams(url.split('?', 2)[1]).get(organizationParameter) ?? undefined;

function orThrow(refusal: TelemetryError | undefined | false): void {
  if (refusal) throw refusal;
}

function checkScope({ scopes }: Caller, may: Permission): void {
  const scope = scopeFor(may);
  if (scope === 'none') throw new TelemetryError('missing_scope', 'Sign in as a person: no key may do this.');
  if (scope !== null && !scopes.includes(scope)) throw new TelemetryError('missing_scope', `Use a key with the scope ${scope}.`);
}

import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { mayAs, sessionMs, TelemetryError, type Account, type Caller, type Permission, type Person } from '#model';
import { Readiness } from '../readiness.js';
import { Accounts } from './accounts.js';
import { cookieIn, cookieOf } from './cookies.js';
import { PublicUrl } from './public-url.js';
import { checkSameSite } from './same-site.js';
import { Sessions, type Origin } from './sessions.js';

/** Who wants to act for an organization without naming one that fits. */
const whichOrganization =
  'Name one of your organizations in the x-organization-id header; GET /api/auth/session lists them. Whoever has one only may leave it out.';

/** The cookie that a browser keeps its session in. */
const cookieName = 'headwater_session';

/** How often open streams are checked for a session that has ended. */
const lookMs = 2_000;

/** Requests that come with the session of a person. */
@Injectable()
export class Visitors {
  /** Whom to tell when a caller who was let in for longer than a request no longer would be. */
  readonly #staying = new Map<() => void, Caller>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly accounts: Accounts,
    private readonly sessions: Sessions,
    private readonly publicUrl: PublicUrl,
    readiness: Readiness,
  ) {
    readiness.need(sessions.ready);
  }

  /** Who has signed in; undefined where nobody has. @throws TelemetryError `cross_site`, or `log_unavailable`. */
  personOf(request: Pick<FastifyRequest, 'method' | 'headers'>): Person | undefined {
    const person = this.sessions.personOf(this.tokenOf(request));
    if (person) checkSameSite(request, this.publicUrl);
    return person;
  }

  /** The token that a request has brought, whatever it is worth. */
  tokenOf({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
    return cookieIn(headers.cookie, cookieName, this.publicUrl);
  }

  /**
   * A person in an organization.
   *
   * @param orgId undefined for the only one that the person has.
   * @throws TelemetryError `no_organization`, the same whether it is another's or nobody's, or `missing_role`.
   */
  callerOf(person: Person, orgId: string | undefined, permission: Permission): Caller {
    const memberships = this.accounts.membershipsOf(person.accountId);
    const membership = orgId === undefined && memberships.length === 1 ? memberships[0] : memberships.find((one) => one.orgId === orgId);
    if (!membership) throw new TelemetryError('no_organization', whichOrganization);
    const { role } = membership;
    if (!mayAs(role, permission))
      throw new TelemetryError('missing_role', `Ask an owner of the organization: as ${role} you may not do this.`);
    return { orgId: membership.orgId, keyId: person.accountId, scopes: [], person: { ...person, role } };
  }

  /**
   * Calls the listener once, within seconds, when the session of a caller is over or its person has left the organization; a session whose
   * end the log has not told yet goes on.
   *
   * @param caller who was let in by a session.
   * @returns ends the listening.
   */
  revoked(caller: Caller, listener: () => void): () => void {
    const tell = (): void => listener();
    this.#staying.set(tell, caller);
    this.#timer ??= setInterval(() => this.#look(), lookMs).unref();
    return () => this.#forget(tell);
  }

  /** Lets the session last, and the cookie of the browser with it. */
  note(person: Person, request: FastifyRequest, reply: FastifyReply): void {
    const token = this.tokenOf(request);
    if (token !== undefined && this.sessions.note(person, { address: request.ip })) this.give(reply, token);
  }

  /** Signs somebody in, in place of whoever has signed in with this browser. Returns the token, which the browser is given. */
  async enter(account: Account, request: FastifyRequest, reply: FastifyReply): Promise<string> {
    const token = await this.sessions.begin(account, originOf(request), this.sessions.personOf(this.tokenOf(request)));
    this.give(reply, token);
    return token;
  }

  /** Gives the browser a token to keep, or ends the one that it has. */
  give(reply: FastifyReply, token: string | undefined): void {
    reply.header('set-cookie', cookieOf(cookieName, token, sessionMs / 1000, this.publicUrl));
  }

  #look(): void {
    for (const [tell, { orgId, person }] of this.#staying) {
      if (this.sessions.holds(person!) && this.accounts.membership(orgId, person!.accountId)) continue;
      this.#forget(tell);
      // Each by itself: a listener that throws takes nobody else's word away.
      queueMicrotask(tell);
    }
  }

  #forget(tell: () => void): void {
    this.#staying.delete(tell);
    if (this.#staying.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

export const originOf = (request: FastifyRequest): Origin => ({ address: request.ip, agent: request.headers['user-agent'] });

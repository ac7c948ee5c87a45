import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { mayAs, TelemetryError, type Caller, type Permission, type Person } from '#model';
import { Readiness } from '../readiness.js';
import { Accounts } from './accounts.js';
import { People } from './people.js';
import { PublicUrl } from './public-url.js';
import { checkSameSite } from './same-site.js';
import { sessionCookie, tokenIn } from './session-cookie.js';
import { Sessions } from './sessions.js';

/** Who wants to act for an organization without naming one that fits. */
const whichOrganization =
  'Name one of your organizations in the x-organization-id header; GET /api/auth/session lists them. Whoever has one only may leave it out.';

/** Requests that come with the session of a person. */
@Injectable()
export class Visitors {
  constructor(
    private readonly accounts: Accounts,
    private readonly sessions: Sessions,
    private readonly publicUrl: PublicUrl,
    people: People,
    readiness: Readiness,
  ) {
    readiness.need(Promise.all([sessions.ready, people.ready]));
  }

  /** Who has signed in; undefined where nobody has. @throws TelemetryError `cross_site`, or `log_unavailable`. */
  personOf(request: Pick<FastifyRequest, 'method' | 'headers'>): Person | undefined {
    const person = this.sessions.personOf(this.tokenOf(request));
    if (person) checkSameSite(request, this.publicUrl);
    return person;
  }

  /** The token that a request has brought, whatever it is worth. */
  tokenOf({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
    return tokenIn(headers.cookie, this.publicUrl);
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

  /** Lets the session last, and the cookie of the browser with it. */
  note(person: Person, request: FastifyRequest, reply: FastifyReply): void {
    const token = this.tokenOf(request);
    if (token !== undefined && this.sessions.note(person, { address: request.ip })) this.give(reply, token);
  }

  /** Gives the browser a token to keep, or ends the one that it has. */
  give(reply: FastifyReply, token: string | undefined): void {
    reply.header('set-cookie', sessionCookie(token, this.publicUrl));
  }
}

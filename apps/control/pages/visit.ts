import {
  applyDecorators,
  createParamDecorator,
  Injectable,
  SetMetadata,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Accounts, InFlight, Organizations, PublicUrl, Rates, Visitors } from '#edge';
import { TelemetryError, type Caller, type Member, type Permission } from '#model';
import { Redirect } from './shown.js';

/** Who looks at a page, in which organization. */
export interface Visit {
  readonly caller: Caller;
  readonly person: Member;
  readonly organization: Place;
  /** Every organization of the person, the one of the oldest membership first. */
  readonly organizations: readonly Place[];
}

/** An organization as people see it. */
export interface Place {
  readonly orgId: string;
  readonly name: string;
}

interface Wanted {
  readonly may: Permission;
  readonly payment: boolean;
}

const wanted = 'page:wanted';
const visits = new WeakMap<object, Visit>();
/** The organization that somebody who has several has chosen last. It lets nobody in. */
const cookieName = 'headwater_organization';

/** Lets in who has signed in and may do this; whoever has not is asked to. */
@Injectable()
class VisitGuard implements CanActivate {
  constructor(
    private readonly visitors: Visitors,
    private readonly accounts: Accounts,
    private readonly organizations: Organizations,
    private readonly inFlight: InFlight,
    private readonly rates: Rates,
  ) {}

  canActivate(context: ExecutionContext): true {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { may, payment } = Reflect.getMetadata(wanted, context.getHandler()) as Wanted;
    const person = this.visitors.personOf(request);
    if (!person) throw new Redirect(signInAddress(request));
    this.visitors.note(person, request, context.switchToHttp().getResponse<FastifyReply>());
    const organizations = this.accounts
      .membershipsOf(person.accountId)
      .map(({ orgId }) => ({ orgId, name: this.organizations.get(orgId)?.name ?? orgId }));
    const organization = organizations.find(({ orgId }) => orgId === chosen(request)) ?? organizations[0];
    if (!organization) throw new TelemetryError('no_organization', 'Ask somebody to invite you: you belong to no organization any more.');
    const caller = this.visitors.callerOf(person, organization.orgId, may);
    if (payment && !this.organizations.hasPaymentMethod(caller.orgId))
      throw new TelemetryError('payment_required', `Put a payment method on file for ${organization.name}.`);
    if (request.method === 'POST') this.rates.admit(caller);
    request.caller = caller;
    this.#hold(request, caller.orgId);
    visits.set(request, { caller, person: caller.person!, organization, organizations });
    return true;
  }

  /** Counts the form of a request for the organization: until the visitor was known, it was counted for nobody. */
  #hold(request: FastifyRequest, orgId: string): void {
    request.held?.release();
    request.held = this.inFlight.hold(orgId);
    request.held.addBody((request.body as Buffer | undefined)?.length ?? 0);
    request.held.addRead();
  }
}

/** The page is for somebody who has signed in and may do this; without `payment` also where no payment method is on file. */
export const ForVisitor = (may: Permission, { payment = true } = {}): MethodDecorator =>
  applyDecorators(SetMetadata(wanted, { may, payment } satisfies Wanted), UseGuards(VisitGuard));

/** Undefined where nobody has been let in. */
export const visitOf = (request: FastifyRequest): Visit | undefined => visits.get(request);

/** The visit, in a handler `ForVisitor`. */
export const VisitParam = createParamDecorator((_: unknown, context: ExecutionContext) => visitOf(context.switchToHttp().getRequest()));

/** Where to sign in, and which page to go on to. */
const signInAddress = ({ method, url }: FastifyRequest): string =>
  method === 'GET' && url !== '/' ? `/sign-in?next=${encodeURIComponent(url)}` : '/sign-in';

const chosen = ({ headers }: FastifyRequest): string | undefined =>
  headers.cookie
    ?.split(';')
    .map((pair) => pair.trim().split('='))
    .find(([name]) => name === cookieName)?.[1];

/** Has the browser remember an organization. */
export const organizationCookie = (orgId: string, publicUrl: PublicUrl): string =>
  `${cookieName}=${orgId}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax${publicUrl.isSecure ? '; Secure' : ''}`;

import { Inject, Injectable } from '@nestjs/common';
import { hash, randomBytes } from 'node:crypto';
import { Grouped, VIEWS, type View, type Views } from '#log';
import {
  flawOfPassword,
  invitationMs,
  normalEmail,
  resetMs,
  TelemetryError,
  wholeWish,
  type Account,
  type Actor,
  type ErrorCode,
  type Identity,
  type Invitation,
  type NewAccount,
  type PeopleRefusal,
  type PeopleWish,
  type Person,
  type PersonRole,
  type Vouched,
} from '#model';
import { invitations } from '#topics';
import { peopleArea } from '../areas/index.js';
import { CLOCK, type Clock } from '../clock.js';
import { Commands } from '../commands.js';
import { Accounts } from './accounts.js';
import { Passwords } from './passwords.js';
import { PublicUrl } from './public-url.js';
import { SignInLimits } from './sign-in-limits.js';

/** What somebody brings who signs up. */
export interface SignUp {
  readonly email: string;
  readonly password: string;
}

/** An invitation, and the link for whom it is: nobody can make the link again. */
export interface NewInvitation {
  readonly invitation: Invitation;
  readonly link: string;
}

const secretBytes = 32;
/** In bytes of base64url. */
const secretPattern = /^[\w-]{43}$/;

/**
 * Who belongs to which organization, and how they sign in. Every change is decided by one writer: methods reject `log_unavailable` when that
 * takes too long, and as the table of refusals says.
 */
@Injectable()
export class People {
  readonly #invitations: View<Invitation>;
  #byOrganization: Grouped<Invitation> | undefined;
  #byEmail: Grouped<Invitation> | undefined;

  constructor(
    @Inject(VIEWS) views: Views,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly commands: Commands,
    private readonly accounts: Accounts,
    private readonly passwords: Passwords,
    private readonly publicUrl: PublicUrl,
    private readonly limits: SignInLimits,
  ) {
    this.#invitations = views.open(invitations);
  }

  /** Resolves when all that exists is known. */
  get ready(): Promise<unknown> {
    return Promise.all([this.#invitations.ready, this.accounts.ready]);
  }

  /** @param email who may use it; empty for whoever has the link. Rejects `invalid_body` when it is no address. */
  async invite(orgId: string, role: PersonRole, email: string, by: Actor): Promise<NewInvitation> {
    const secret = newSecret();
    const address = email === '' ? '' : checkedEmail(email);
    const expiresMs = this.clock() + invitationMs;
    const invitation: Invitation = { invitationId: invitationIdOf(secret), orgId, role, email: address, invitedBy: by.id, expiresMs };
    await this.#ask(orgId, by, { does: 'invite', invitation });
    return { invitation, link: this.publicUrl.link(`/join/${secret}`) };
  }

  /** The invitation of a link; undefined when there is none, or it is over. */
  invitationOf(secret: string): Invitation | undefined {
    const invitation = secretPattern.test(secret) ? this.#invitations.get(invitationIdOf(secret)) : undefined;
    return invitation && invitation.expiresMs > this.clock() ? invitation : undefined;
  }

  /** The invitations of an organization that can be used, the one that ends first before the others. */
  invitationsOf(orgId: string): readonly Invitation[] {
    this.#byOrganization ??= new Grouped(this.#invitations, (invitation) => invitation.orgId);
    const open = Array.from(this.#byOrganization.of(orgId)).filter(({ expiresMs }) => expiresMs > this.clock());
    return open.toSorted((a, b) => a.expiresMs - b.expiresMs || (a.invitationId < b.invitationId ? -1 : 1));
  }

  async withdraw(orgId: string, invitationId: string, by: Actor): Promise<void> {
    await this.#ask(orgId, by, { does: 'withdraw', invitationId });
  }

  /**
   * Makes an account, which belongs to the organization of the invitation. Rejects `invalid_body` for an address or a password that will not
   * do, and `too_many_sign_ins` for who has asked for too many that there are.
   *
   * @param from where somebody comes from; undefined when the connection has just been reset.
   */
  async signUp(secret: string, { email, password }: SignUp, from: string | undefined): Promise<Account> {
    const invitation = this.#mustHave(secret);
    const address = checkedEmail(email);
    checkPassword(password, address);
    if (invitation.email !== '' && invitation.email !== address) throw refusal('foreign_invitation');
    const attempt = this.limits.beginSignUp(from);
    if (this.accounts.byEmail(address)) throw refusal('email_taken');
    const passwordDigest = await this.passwords.digest(password);
    attempt.succeeded();
    return this.#join(invitation, { accountId: newAccountId(), email: address, passwordDigest, identity: null });
  }

  /**
   * The account of somebody for whom the OpenID provider vouches: the one that is theirs already, whatever their address is now; else the
   * one of their address, which is theirs from now on, and loses its password; else a new one, where they are invited.
   *
   * @param secret of the invitation that they came by; without it one for their address will do.
   * Rejects `unproven_email`, `not_invited`, or `foreign_identity`.
   */
  async enter({ issuer, subject, email, isVerified }: Vouched, secret = ''): Promise<Account> {
    const identity: Identity = { issuer, subject };
    const known = this.accounts.byIdentity(identity);
    if (known) return known;
    const address = normalEmail(email);
    if (address === undefined || !isVerified) throw new TelemetryError('unproven_email', unproven);
    const account = this.accounts.byEmail(address);
    if (account) return this.#bind(account, identity);
    const invitation = this.invitationOf(secret) ?? this.#invitationTo(address);
    if (!invitation) throw new TelemetryError('not_invited', `Ask an owner of your organization to invite ${address}.`);
    return this.#join(invitation, { accountId: newAccountId(), email: address, passwordDigest: '', identity });
  }

  /** Makes somebody who has signed in one of the organization of the invitation. */
  async join(secret: string, { accountId, email }: Person): Promise<Account> {
    return this.#join(this.#mustHave(secret), { accountId, email, passwordDigest: '', identity: null });
  }

  async setRole(orgId: string, accountId: string, role: PersonRole, by: Actor): Promise<void> {
    await this.#ask(orgId, by, { does: 'set_role', accountId, role });
  }

  async remove(orgId: string, accountId: string, by: Actor): Promise<void> {
    await this.#ask(orgId, by, { does: 'leave', accountId });
  }

  /** Sets another password, which ends all sessions of the account. Rejects `invalid_body` for one that will not do. */
  async setPassword({ accountId, email }: Account, password: string): Promise<Account> {
    checkPassword(password, email);
    const passwordDigest = await this.passwords.digest(password);
    await this.#ask('', { id: accountId, name: email }, { does: 'set_password', accountId, passwordDigest });
    return this.accounts.get(accountId)!;
  }

  /** Makes a link that sets another password of an account, once and for so long; it takes the place of the one before. */
  async offerReset({ accountId }: Account, by: Actor, forMs = resetMs): Promise<string> {
    const secret = newSecret();
    const reset = { sha256: sha256Of(secret), expiresMs: this.clock() + forMs };
    await this.#ask('', by, { does: 'offer_reset', accountId, reset });
    return this.publicUrl.link(`/reset/${secret}`);
  }

  /** The account whose password a link sets; undefined when there is none, or the link is over. */
  accountOfReset(secret: string): Account | undefined {
    if (!secretPattern.test(secret)) return undefined;
    const account = this.accounts.byReset(sha256Of(secret));
    return account && account.reset!.expiresMs > this.clock() ? account : undefined;
  }

  /** Sets another password by a link. Rejects `unknown_reset`, `invalid_body` for a password that will not do, or `too_many_sign_ins`. */
  async resetPassword(secret: string, password: string): Promise<Account> {
    const account = this.accountOfReset(secret);
    if (!account) throw refusal('unknown_reset');
    const { accountId, email } = account;
    checkPassword(password, email);
    const attempt = this.limits.beginReset(account.reset!.sha256);
    const passwordDigest = await this.passwords.digest(password);
    attempt.succeeded();
    await this.#ask('', { id: accountId, name: email }, { does: 'reset_password', reset: account.reset!, passwordDigest });
    return this.accounts.get(accountId)!;
  }

  async #bind({ accountId, email }: Account, identity: Identity): Promise<Account> {
    await this.#ask('', { id: accountId, name: email }, { does: 'bind', accountId, identity });
    return this.accounts.get(accountId)!;
  }

  /** An invitation that only this address may use, of several the one that ends first. */
  #invitationTo(email: string): Invitation | undefined {
    this.#byEmail ??= new Grouped(this.#invitations, (invitation) => invitation.email);
    const open = Array.from(this.#byEmail.of(email)).filter(({ expiresMs }) => expiresMs > this.clock());
    return open.toSorted((a, b) => a.expiresMs - b.expiresMs)[0];
  }

  async #join({ orgId, invitationId }: Invitation, account: NewAccount): Promise<Account> {
    await this.#ask(orgId, { id: account.accountId, name: account.email }, { does: 'join', invitationId, account });
    return this.accounts.get(account.accountId)!;
  }

  #mustHave(secret: string): Invitation {
    const invitation = this.invitationOf(secret);
    if (!invitation) throw refusal('unknown_invitation');
    return invitation;
  }

  async #ask(orgId: string, by: Actor, wish: PeopleWish): Promise<void> {
    const { word } = await this.commands.carryOut(peopleArea, { orgId, by, ...wholeWish(wish) });
    if (Object.hasOwn(refusals, word)) throw refusal(word as PeopleRefusal);
  }
}

/** What people are told, by the word of the decision. */
const refusals: Readonly<Record<PeopleRefusal, readonly [code: ErrorCode, detail: string]>> = {
  invalid_email: ['invalid_body', 'Mend /email: it is no e-mail address.'],
  email_taken: ['email_taken', 'Sign in with this address: it has an account. Then use the invitation again.'],
  unknown_invitation: ['unknown_invitation', 'Ask for another invitation: this one was used or withdrawn, or is over.'],
  foreign_invitation: ['foreign_invitation', 'Use the address that was invited: the invitation is for another one.'],
  already_invited: ['internal', 'Try again.'],
  already_member: ['already_member', 'Keep the invitation for somebody else: you belong to its organization.'],
  unknown_member: ['unknown_person', 'List the people with GET /api/people: your organization has nobody with this id.'],
  last_owner: ['last_owner', 'Make somebody else an owner first: an organization keeps one.'],
  too_many_members: ['too_many_people', 'Remove somebody first: an organization has at most 1,000 people.'],
  too_many_invitations: ['too_many_people', 'Withdraw invitations first: an organization has at most 100 that are open.'],
  unknown_account: ['unknown_person', 'There is no such account.'],
  unknown_reset: ['unknown_reset', 'Ask for another link: this one was used, or is over.'],
  foreign_identity: [
    'foreign_identity',
    'Sign in with your password: the account of your address belongs to somebody else at the provider.',
  ],
};

function refusal(why: PeopleRefusal): TelemetryError {
  const [code, detail] = refusals[why];
  return new TelemetryError(code, detail);
}

function checkedEmail(text: string): string {
  const email = normalEmail(text);
  if (email === undefined) throw invalid('/email', 'must be an e-mail address');
  return email;
}

function checkPassword(password: string, email: string): void {
  const flaw = flawOfPassword(password, email);
  if (flaw) throw invalid('/password', flaw.replace(/\.$/, ''));
}

function invalid(pointer: string, detail: string): TelemetryError {
  const flaws = [{ pointer, code: 'invalid_body', detail: `${detail}.` }];
  return new TelemetryError('invalid_body', `Mend ${pointer}: ${detail}.`, { flaws });
}

const unproven = 'Have your address confirmed where you have signed in: the provider does not say that it is yours.';

const newAccountId = (): string => `acc_${randomBytes(12).toString('hex')}`;
const newSecret = (): string => randomBytes(secretBytes).toString('base64url');
const sha256Of = (text: string): string => hash('sha256', text, 'hex');
const invitationIdOf = (secret: string): string => `inv_${sha256Of(secret).slice(0, 24)}`;

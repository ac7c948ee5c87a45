import { Inject, Injectable } from '@nestjs/common';
import { Grouped, VIEWS, type View, type Views } from '#log';
import { membershipKey, type Account, type Identity, type Membership } from '#model';
import { accounts, memberships } from '#topics';

/** Who can sign in, and who belongs to which organization, as the log tells it. Ask once `ready` has resolved. */
@Injectable()
export class Accounts {
  readonly #accounts: View<Account>;
  readonly #memberships: View<Membership>;
  /** Made at the first question: the views are ready then. */
  #byEmail: Grouped<Account> | undefined;
  #byReset: Grouped<Account> | undefined;
  #byIdentity: Grouped<Account> | undefined;
  #byAccount: Grouped<Membership> | undefined;

  constructor(@Inject(VIEWS) views: Views) {
    this.#accounts = views.open(accounts);
    this.#memberships = views.open(memberships);
  }

  /** Resolves when all that exists is known. */
  get ready(): Promise<unknown> {
    return Promise.all([this.#accounts.ready, this.#memberships.ready]);
  }

  get(accountId: string): Account | undefined {
    return this.#accounts.get(accountId);
  }

  /** @param email as `normalEmail` writes it. */
  byEmail(email: string): Account | undefined {
    this.#byEmail ??= new Grouped(this.#accounts, (account) => account.email);
    const [account] = this.#byEmail.of(email);
    return account;
  }

  /** The account with a link that sets another password. @param sha256 of the secret in the link. */
  byReset(sha256: string): Account | undefined {
    this.#byReset ??= new Grouped(this.#accounts, ({ reset }) => reset?.sha256 ?? '');
    const [account] = this.#byReset.of(sha256);
    return account;
  }

  /** The account that somebody of an OpenID provider is bound to. */
  byIdentity(identity: Identity): Account | undefined {
    this.#byIdentity ??= new Grouped(this.#accounts, (one) => (one.identity ? nameOf(one.identity) : ''));
    const [account] = this.#byIdentity.of(nameOf(identity));
    return account;
  }

  membership(orgId: string, accountId: string): Membership | undefined {
    return this.#memberships.get(membershipKey({ orgId, accountId }));
  }

  /** The organizations of an account, oldest membership first. */
  membershipsOf(accountId: string): readonly Membership[] {
    this.#byAccount ??= new Grouped(this.#memberships, (membership) => membership.accountId);
    return Array.from(this.#byAccount.of(accountId)).toSorted(bySince);
  }

  /** The people of an organization, oldest membership first. */
  membersOf(orgId: string): readonly Membership[] {
    return Array.from(this.#memberships.scan(`${orgId}/`), ([, membership]) => membership).toSorted(bySince);
  }
}

const nameOf = ({ issuer, subject }: Identity): string => JSON.stringify([issuer, subject]);
const bySince = (a: Membership, b: Membership): number => a.sinceMs - b.sinceMs || (membershipKey(a) < membershipKey(b) ? -1 : 1);

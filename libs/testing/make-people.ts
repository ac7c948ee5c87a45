import { Passwords } from '#edge';
import { entry, type RecordLog } from '#log';
import type { Account, PersonRole } from '#model';
import { accounts, memberships } from '#topics';
import type { People } from './deployment.js';

const passwords = new Passwords();
let made = 0;

/** Those who can sign in where `makePeopleIn` was called. */
export const people: People = {
  owner: { email: 'owner@example.com', password: 'the owner of the plant' },
  otherOwner: { email: 'other-owner@example.com', password: 'the owner of the harbour' },
  stranger: { email: 'stranger@example.com', password: 'somebody from nowhere' },
};

/** Makes an account in a log, though nobody decides there. */
export async function makeAccount(log: Pick<RecordLog, 'append'>, email: string, password: string): Promise<Account> {
  const accountId = `acc_test${++made}`;
  const account: Account = {
    accountId,
    email,
    passwordDigest: await passwords.digest(password),
    createdMs: made,
    reset: null,
    identity: null,
  };
  await log.append([entry(accounts, account)]);
  return account;
}

/** Makes somebody one of an organization in a log, though nobody decides there. */
export async function makeMember(log: Pick<RecordLog, 'append'>, orgId: string, { accountId }: Account, role: PersonRole): Promise<void> {
  await log.append([entry(memberships, { orgId, accountId, role, sinceMs: ++made })]);
}

/** Makes these people in a log. @param orgId of the organization that the first of them owns. @param otherOrgId of that of the second. */
export async function makePeopleIn(log: Pick<RecordLog, 'append'>, orgId: string, otherOrgId: string): Promise<void> {
  const its = [people.owner, people.otherOwner, people.stranger];
  const [owner, otherOwner] = await Promise.all(its.map(({ email, password }) => makeAccount(log, email, password)));
  await makeMember(log, orgId, owner!, 'owner');
  await makeMember(log, otherOrgId, otherOwner!, 'owner');
}

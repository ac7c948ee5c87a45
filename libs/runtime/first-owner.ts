import { operator, type Accounts, type People } from '#edge';
import { operatorOrgId } from '#model';

/**
 * A link that makes the first owner of the organization that the first start makes; undefined once it has one. The links before it, which
 * were made in the same way, are worth nothing any more.
 */
export async function firstOwner(people: People, accounts: Accounts): Promise<string | undefined> {
  await people.ready;
  if (accounts.membersOf(operatorOrgId).some(({ role }) => role === 'owner')) return undefined;
  const before = people
    .invitationsOf(operatorOrgId)
    .filter((one) => one.role === 'owner' && one.email === '' && one.invitedBy === operator.id);
  for (const { invitationId } of before) await people.withdraw(operatorOrgId, invitationId, operator);
  return (await people.invite(operatorOrgId, 'owner', '', operator)).link;
}

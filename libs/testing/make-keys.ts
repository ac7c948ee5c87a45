import { newKey, type NewKey } from '#edge';
import { entry, type RecordLog } from '#log';
import { scopes, type Organization, type Scope } from '#model';
import { apiKeys, organizations } from '#topics';
import type { Keys } from './deployment.js';
import { makePeopleIn } from './make-people.js';

let made = 0;

/** Makes an organization in a log, though nobody decides there. */
export async function makeOrganization(
  log: Pick<RecordLog, 'append'>,
  paid: boolean,
  orgId = `org_test${++made}`,
  deletedMs: number | null = null,
): Promise<string> {
  const organization: Organization = {
    orgId,
    name: orgId,
    paymentMethodOnFile: paid,
    createdMs: 1,
    limits: {},
    enforceReadScope: false,
    deletedMs,
  };
  await log.append([entry(organizations, organization)]);
  return orgId;
}

/** Makes a key in a log, though nobody decides there. */
export async function makeKey(
  log: Pick<RecordLog, 'append'>,
  orgId: string,
  its: readonly Scope[] = scopes,
  sources?: readonly string[],
): Promise<NewKey> {
  const one = newKey(orgId, { name: 'tests', scopes: its, createdBy: 'operator', sources }, ++made);
  await log.append([entry(apiKeys, one.key)]);
  return one;
}

/** Makes three organizations in a log, a key of each, and `people`. */
export async function makeKeysIn(log: Pick<RecordLog, 'append'>): Promise<Keys & { readonly unpaid: string }> {
  const [orgId, otherOrgId] = [await makeOrganization(log, true), await makeOrganization(log, true)];
  await makePeopleIn(log, orgId, otherOrgId);
  const make = async (ofOrg: string): Promise<string> => (await makeKey(log, ofOrg)).secret;
  return { own: await make(orgId), other: await make(otherOrgId), unpaid: await make(await makeOrganization(log, false)) };
}

import { newKey, type NewKey } from '#edge';
import { entry, type RecordLog } from '#log';
import { scopes, type Organization, type Scope } from '#model';
import { apiKeys, organizations } from '#topics';
import type { Keys } from './deployment.js';

let made = 0;

/** Makes an organization in a log, though nobody decides there. */
export async function makeOrganization(log: Pick<RecordLog, 'append'>, paid: boolean, orgId = `org_test${++made}`): Promise<string> {
  const organization: Organization = { orgId, name: orgId, paymentMethodOnFile: paid, createdMs: 1, limits: {} };
  await log.append([entry(organizations, organization)]);
  return orgId;
}

/** Makes a key in a log, though nobody decides there. */
export async function makeKey(log: Pick<RecordLog, 'append'>, orgId: string, its: readonly Scope[] = scopes): Promise<NewKey> {
  const one = newKey(orgId, 'tests', its, ++made);
  await log.append([entry(apiKeys, one.key)]);
  return one;
}

/** Makes three organizations in a log, and a key of each. */
export async function makeKeysIn(log: Pick<RecordLog, 'append'>): Promise<Keys & { readonly unpaid: string }> {
  const make = async (paid: boolean): Promise<string> => (await makeKey(log, await makeOrganization(log, paid))).secret;
  return { own: await make(true), other: await make(true), unpaid: await make(false) };
}

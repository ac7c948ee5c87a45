import { Keyring, Organizations } from '#edge';
import type { RecordLog, Views } from '#log';
import { scopes } from '#model';
import type { Keys } from './deployment.js';

/** Makes three organizations in a log, and a key of each. */
export async function makeKeysIn({
  views,
  log,
}: {
  readonly views: Views;
  readonly log: RecordLog;
}): Promise<Keys & { readonly unpaid: string }> {
  const organizations = new Organizations(views, log, Date.now);
  const keyring = new Keyring(views, log, Date.now);
  await Promise.all([organizations.ready, keyring.ready]);
  const make = async (name: string, paid: boolean): Promise<string> => {
    const { orgId } = await organizations.create(name, paid);
    return (await keyring.create(orgId, 'tests', scopes)).secret;
  };
  return { own: await make('First', true), other: await make('Second', true), unpaid: await make('Unpaid', false) };
}

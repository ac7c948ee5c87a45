import type { Keyring, Organizations, ShowSecret } from '#edge';

/** The same wherever it is made, so that two who make it at the same time make one. */
const firstOrgId = 'org_0000000000000001';

/**
 * Makes an organization with a payment method on file and its first key, where there is none yet; gives the secret to whoever shows it:
 * to one, if several do this at the same time. An organization without a key is a first start that was cut off: it gets its key now. Where
 * records cannot be read nobody knows whether there are keys, and none is made.
 *
 * @param show where one process alone does this: shows the secret before the key is made, so that no key is made that nobody has seen.
 */
export async function firstKey(organizations: Organizations, keyring: Keyring, show?: ShowSecret): Promise<string | undefined> {
  if (organizations.hasUnreadable() || keyring.hasUnreadable()) return undefined;
  const [known, ...others] = organizations.list();
  if (others.length > 0) return undefined;
  const { orgId } = known ?? (await organizations.create('My organization', true, firstOrgId));
  return (await keyring.createFirst(orgId, 'First key', ['read', 'write', 'admin'], show))?.secret;
}

/** What the first start prints, once. @param now says that it is there, or will be. */
export function welcome(url: string, key: string, now = `Headwater is ready at ${url}`): string {
  return `
  ${now}

  Your API key. It is shown this once, so keep it:

    ${key}

  Send a point:

    curl -sS ${url}/ingest -H 'x-api-key: ${key}' -H 'content-type: application/json' \\
      -d '{"source_id": "greenhouse", "points": [{"metric": "air.temperature", "value": 21.5}]}'

  Read it back:

    curl -sS ${url}/v1/sources/greenhouse/metrics/latest -H 'x-api-key: ${key}'

`;
}

/** How to go on without the first key. */
export const anotherKey = (dataDir: string): string =>
  `lost the key? stop the server and run: npx headwater keys create --scopes read,write,admin --data ${dataDir}`;

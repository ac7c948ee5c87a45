import { setTimeout as pause } from 'node:timers/promises';
import { newKey, type Keyring, type Organizations } from '#edge';
import { OperatorError, operatorOrgId, TelemetryError, type ApiKey } from '#model';

/** While the group gives its partition to another member, or Kafka is slow, nobody decides in time: how long to ask again. */
const patienceMs = 30_000;
const pauseMs = 500;

/**
 * Makes an organization with a payment method on file and its first key, where there is none yet; gives the secret to whoever shows it:
 * to one, if several do this at the same time. An organization without a key is a first start that was cut off: it gets its key now. Where
 * records cannot be read nobody knows whether there are keys, and none is made.
 *
 * @param createFirst see `KeyCommands.createFirst`.
 * @param show where one process alone does this: shows the secret before the key is made, so that no key is made that nobody has seen.
 * Rejects OperatorError when the key was shown and not made.
 */
export async function firstKey(
  organizations: Organizations,
  keyring: Keyring,
  createFirst: (key: ApiKey) => Promise<boolean>,
  show?: (secret: string) => Promise<void>,
): Promise<string | undefined> {
  if (organizations.hasUnreadable() || keyring.hasUnreadable()) return undefined;
  const [known, ...others] = organizations.list();
  if (others.length > 0) return undefined;
  const { orgId } = known ?? (await organizations.create('My organization', true, { orgId: operatorOrgId }));
  if (keyring.list(orgId).length > 0) return undefined;
  const { key, secret } = newKey(orgId, { name: 'First key', scopes: ['read', 'write', 'admin'], createdBy: 'operator' }, Date.now());
  await show?.(secret);
  try {
    if (await again(() => createFirst(key))) return secret;
  } catch (cause) {
    throw show ? new OperatorError(`The API key above may not work: ${(cause as Error).message} ${startAgain}`, { cause }) : cause;
  }
  if (show) throw new OperatorError(`The API key above does not work: another one has been made meanwhile. ${startAgain}`);
  return undefined;
}

const startAgain = 'Start again: where another key is shown, use that one.';

/** Asks again for a while: at the start nobody may decide in time. */
export async function again<T>(work: () => Promise<T>): Promise<T> {
  for (const endMs = performance.now() + patienceMs; ; await pause(pauseMs)) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > endMs || !(error instanceof TelemetryError && error.retryable)) throw error;
    }
  }
}

/**
 * What the first start prints, once.
 *
 * @param ownerLink makes the first owner; undefined where it could not be made.
 * @param now says that it is there, or will be.
 */
export function welcome(url: string, key: string, ownerLink?: string, now = `Headwater is ready at ${url}`): string {
  return `
  ${now}

  Your API key. It is shown this once, so keep it:

    ${key}
${ownerLink ? ownerText(ownerLink) : ''}
  Send a point:

    curl -sS ${url}/ingest -H 'x-api-key: ${key}' -H 'content-type: application/json' \\
      -d '{"source_id": "greenhouse", "points": [{"metric": "air.temperature", "value": 21.5}]}'

  Read it back:

    curl -sS ${url}/v1/sources/greenhouse/metrics/latest -H 'x-api-key: ${key}'

`;
}

/** What a start prints for as long as nobody owns the organization. */
export const ownerText = (link: string): string => `
  Make an account for yourself. The link is for one person, and for 7 days:

    ${link}
`;

/** How to go on without the first key. */
export const anotherKey = (dataDir: string): string =>
  `lost the key? stop the server and run: npx headwater keys create --scopes read,write,admin --data ${dataDir}`;

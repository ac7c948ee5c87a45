import { EmbeddedDeployment } from '../embedded-deployment.js';
import { people } from '../make-people.js';
import type { Target } from './stage.js';
import { apiSuite } from './suite.js';

/**
 * A deployment that runs already, named by the environment:
 *
 * - `API_URL`, and where they differ `INGEST_URL` and `APP_URL`;
 * - `API_KEY`: a key with the scopes read, write and admin, of an organization with a payment method on file;
 * - `OTHER_API_KEY`: the same of a second organization;
 * - `UNPAID_API_KEY`: the same of an organization without a payment method.
 *
 * Without one of the last two, the rows that need it do not run, and are named at the end.
 */
function fromEnvironment(api: string): Target {
  const { INGEST_URL: ingest = api, APP_URL: app = api, API_KEY: own, OTHER_API_KEY: other, UNPAID_API_KEY: unpaid } = process.env;
  if (!own) throw new Error('With API_URL the suite needs API_KEY, a key with the scopes read, write and admin.');
  return { urls: { api, ingest, app }, keys: { own, other, unpaid }, people: undefined, close: () => Promise.resolve() };
}

async function embedded(): Promise<Target> {
  const deployment = await EmbeddedDeployment.start();
  return { urls: deployment.urls, keys: deployment.keys, people, close: () => deployment.stop() };
}

const { API_URL: api } = process.env;
apiSuite(() => (api ? Promise.resolve(fromEnvironment(api)) : embedded()));

import { hostname } from 'node:os';
import type { CreatedApiKey, Headwater } from '#client';
import { boundSourcePattern, boundSources, allSources, flawOfRights, maxBoundSources, type Scope, scopes } from '#model';
import { command } from './command.js';
import { connectionFlags, connect } from './connection.js';
import { Failure, usage } from './failure.js';
import { dataFlag } from './target.js';

interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly sources: readonly string[];
}

/** The answer of an older server has no sources. */
type CreatedKey = Pick<CreatedApiKey, 'id' | 'api_key'> & Partial<CreatedApiKey>;

export const body = command({
  about:
    'Prints the key to stdout, once: only its digest is stored. Needs a key with the scope admin, or, with --data, the data folder of a ' +
    'server that is stopped, or, with --org, the data plane that the environment names. read is needed for reading ' +
    'only where the organization enforces it: otherwise any key may read all data of its organization, whatever its scopes. write is needed to ' +
    'send points, admin to manage keys.',
  flags: {
    ...connectionFlags,
    data: dataFlag,
    org: { value: 'ID', about: 'an organization of the folder or of the data plane; see `headwater org list`' },
    name: { value: 'NAME', about: 'what the key is for, so that you know it in the list', default: hostname() },
    scopes: { value: 'SCOPES', about: 'some of read, write, admin, with commas between', default: 'read,write' },
    source: {
      value: 'ID',
      about: 'a source that the key is for, or the beginning of ids and `*`, such as "line-a.*"; may be repeated. Without it: every source',
      many: true,
    },
    json: { about: 'print the answer as JSON, with the key in `api_key`' },
  },
  examples: [
    'headwater keys create --name pump-7',
    'headwater keys create --name gateway --scopes write > gateway.key',
    'headwater keys create --name line-a --scopes write --source "line-a.*" --source press-7',
    'headwater keys create --name me --scopes read,write,admin --data data',
    'headwater keys create --name me --scopes read,write,admin --org org_0000000000000001',
  ],
  async run(flags, io) {
    const asked = { name: flags.name, ...readRights(flags.scopes, flags.source) };
    const created =
      flags.data === undefined && flags.org === undefined
        ? await throughApi((await connect(flags, io)).headwater, asked)
        : await throughLog(flags.data, asked, flags.org);
    await io.data(flags.json ? `${JSON.stringify(created, null, 2)}\n` : `${created.api_key}\n`);
    io.note('This key is shown once: store it now.');
  },
});

async function throughApi({ keys }: Headwater, { name, scopes: granted, sources }: NewKey): Promise<CreatedKey> {
  const isBound = boundSources(sources) !== undefined;
  const created: CreatedKey = await keys.create({ name, scopes: granted, ...(isBound && { sources }) });
  if (isBound && created.sources === undefined)
    throw new Failure(`The server is too old for --source, and has made the key ${created.id} for every source: delete it.`);
  return created;
}

/** Without a server that answers: on a folder or the data plane, for the organization named, or the only one there is. */
async function throughLog(dir: string | undefined, asked: NewKey, orgId: string | undefined): Promise<CreatedKey> {
  const [{ makeKey, withOrganizations }, { toListed }] = await Promise.all([import('./organizations.js'), import('../control/keys.js')]);
  return withOrganizations(dir, async (organizations, ports) => {
    const [organization, ...others] = organizations.list().filter((one) => orgId === undefined || one.orgId === orgId);
    if (!organization) throw new Failure('There is no such organization: see `headwater org list`.');
    if (others.length > 0) throw new Failure('There are several organizations: name one with --org; see `headwater org list`.');
    const { key, secret } = await makeKey(ports, organization.orgId, asked);
    return { ...toListed(key), api_key: secret };
  });
}

function readRights(scopeNames: string, patterns: readonly string[]): Pick<NewKey, 'scopes' | 'sources'> {
  const granted = readScopes(scopeNames);
  const sources = patterns.length > 0 ? patterns : allSources;
  const wrong = sources.find((pattern) => !boundSourcePattern.test(pattern));
  if (wrong !== undefined) throw usage(`"${wrong}" is neither a source id nor the beginning of one and *.`);
  if (sources.length > maxBoundSources)
    throw usage(`Give --source at most ${maxBoundSources} times; one that ends with * is for many sources.`);
  const flaw = flawOfRights(granted, sources);
  if (flaw) throw usage(`That cannot be: ${flaw}.`);
  return { scopes: granted, sources };
}

/** Scopes as typed: names with commas between. */
function readScopes(text: string): readonly Scope[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !scopes.includes(name as Scope));
  if (unknown.length > 0) throw usage(`There is no scope "${unknown.join('", "')}": use some of ${scopes.join(',')}.`);
  return [...new Set(names as Scope[])];
}

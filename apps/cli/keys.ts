import { hostname } from 'node:os';
import type { ApiKey, CreatedApiKey, Headwater } from '#client';
import { allSources, boundSourcePattern, boundSources, flawOfRights, maxBoundSources, type Scope, scopes } from '#model';
import { command } from './command.js';
import { connect, connectionFlags } from './connection.js';
import { Failure, usage } from './failure.js';
import { dataFlag } from './target.js';
import { aligned } from './text.js';

interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly sources: readonly string[];
}

/** The answer of an older server has no sources. */
type CreatedKey = Pick<CreatedApiKey, 'id' | 'api_key'> & Partial<CreatedApiKey>;

export const create = command({
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
  const [{ makeKey, organizationOf, withOrganizations }, { toListed }] = await Promise.all([
    import('./org.js'),
    import('../control/keys.js'),
  ]);
  return withOrganizations(dir, async (organizations, ports) => {
    const { key, secret } = await makeKey(ports, organizationOf(organizations, orgId).orgId, asked);
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

/** The answer of an older server lacks some. */
type ListedKey = Omit<ApiKey, 'sources' | 'last_used_ms' | 'last_used_from'> & Partial<ApiKey>;

export const list = command({
  about: 'Shows what is stored of each key, which is never the key itself. Needs a key with the scope admin.',
  flags: { ...connectionFlags, json: { about: 'print the answer of the server as JSON' } },
  examples: ['headwater keys list', 'headwater keys list --json | jq -r ".[].id"'],
  async run(flags, io) {
    const { headwater } = await connect(flags, io);
    const answer: readonly ListedKey[] = await headwater.keys.list();
    if (flags.json) return io.data(`${JSON.stringify(answer, null, 2)}\n`);
    return io.data(table(answer));
  },
});

function table(keys: readonly ListedKey[]): string {
  const rows = keys.map((key) => [
    key.id,
    `${key.prefix}…${key.suffix}`,
    key.scopes.join(','),
    key.sources?.join(',') ?? '*',
    new Date(key.created_ms).toISOString().slice(0, 10),
    lastUse(key),
    key.name,
  ]);
  return aligned([['ID', 'KEY', 'SCOPES', 'SOURCES', 'CREATED', 'LAST USED', 'NAME'], ...rows]);
}

function lastUse({ last_used_ms: ms, last_used_from: address }: ListedKey): string {
  if (typeof ms !== 'number') return '-';
  const minute = new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
  return address ? `${minute} ${address}` : minute;
}

export const remove = command({
  about:
    'The key stops working everywhere within 10 seconds, on open connections too. Needs a key with the scope admin. Once the last key with ' +
    'that scope is deleted, only `headwater keys create --data` on the folder of the stopped server makes another.',
  argument: { name: 'ID', about: 'id of the key, as `headwater keys list` shows it' },
  flags: connectionFlags,
  examples: ['headwater keys delete key_5f2a9c01b7d34e68a0c1f2e3'],
  async run(flags, io, id) {
    const { headwater } = await connect(flags, io);
    await headwater.keys.delete(id);
    io.note(`Deleted ${id}.`);
  },
});

import { hostname } from 'node:os';
import { type Scope, scopes } from '#model';
import { Api } from './api.js';
import { command } from './command.js';
import { connectionFlags, findConnection } from './connection.js';
import { Failure, usage } from './failure.js';
import { dataFlag, offline } from './target.js';

interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
}

interface CreatedKey {
  readonly api_key: string;
}

export const body = command({
  about:
    'Prints the key to stdout, once: only its digest is stored. Needs a key with the scope admin, or, with --data, the data folder of a ' +
    'server that is stopped. Any key may read all data of its organization, whatever its scopes: read is not enforced. write is needed ' +
    'to send points, admin to manage keys.',
  flags: {
    ...connectionFlags,
    data: dataFlag,
    name: { value: 'NAME', about: 'what the key is for, so that you know it in the list', default: hostname() },
    scopes: { value: 'SCOPES', about: 'some of read, write, admin, with commas between', default: 'read,write' },
    json: { about: 'print the answer as JSON, with the key in `api_key`' },
  },
  examples: [
    'headwater keys create --name pump-7',
    'headwater keys create --name gateway --scopes write > gateway.key',
    'headwater keys create --name me --scopes read,write,admin --data data',
  ],
  async run(flags, io) {
    const asked = { name: flags.name, scopes: readScopes(flags.scopes) };
    const created =
      flags.data === undefined ? await throughApi(new Api(await findConnection(flags)), asked) : await inFolder(flags.data, asked);
    await io.data(flags.json ? `${JSON.stringify(created, null, 2)}\n` : `${created.api_key}\n`);
    io.note('This key is shown once: store it now.');
  },
});

const throughApi = async (api: Api, asked: NewKey): Promise<CreatedKey> =>
  (await api.request('/api/api-keys', { method: 'POST', body: JSON.stringify(asked) })) as CreatedKey;

async function inFolder(dir: string, asked: NewKey): Promise<CreatedKey> {
  const [{ openStorage }, { KeyCommands, Keyring, Organizations, whileDeciding }, { toListed }] = await Promise.all([
    import('#sqlite'),
    import('#edge'),
    import('../control/keys.js'),
  ]);
  const storage = await offline(dir, () => openStorage(dir));
  try {
    const organizations = new Organizations(storage.views, storage.log, Date.now);
    const keyring = new Keyring(storage.views);
    const commands = new KeyCommands(storage.views, storage.log, Date.now);
    await Promise.all([organizations.ready, keyring.ready]);
    const [organization, ...others] = organizations.list();
    if (!organization || others.length > 0)
      throw new Failure('The folder has no organization, or several: start its server, and use a key with the scope admin.');
    const create = (): ReturnType<typeof commands.create> => commands.create(organization.orgId, asked.name, asked.scopes);
    const { key, secret } = await whileDeciding(storage.log, keyring, Date.now, create);
    return { ...toListed(key), api_key: secret };
  } finally {
    await storage.close();
  }
}

/** Scopes as typed: names with commas between. */
function readScopes(text: string): readonly Scope[] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !scopes.includes(name as Scope));
  if (unknown.length > 0) throw usage(`There is no scope "${unknown.join('", "')}": use some of ${scopes.join(',')}.`);
  return [...new Set(names as Scope[])];
}

import { Api } from './api.js';
import { command } from './command.js';
import { connectionFlags, findConnection } from './connection.js';
import { readScopes } from './keys.js';

interface CreatedKey {
  readonly api_key: string;
}

export const body = command({
  about: 'Prints the key to stdout, once: only its digest is stored. Needs a key with the scope admin.',
  flags: {
    ...connectionFlags,
    name: { value: 'NAME', about: 'what the key is for, so that you know it in the list', required: true },
    scopes: { value: 'SCOPES', about: 'some of read, write, admin, with commas between', default: 'read,write' },
    json: { about: 'print the answer of the server as JSON, with the key in `api_key`' },
  },
  examples: ['headwater keys create --name pump-7', 'headwater keys create --name gateway --scopes write > gateway.key'],
  async run(flags, io) {
    const asked = { name: flags.name, scopes: readScopes(flags.scopes) };
    const api = new Api(await findConnection(flags));
    const answer = (await api.request('/api/api-keys', { method: 'POST', body: JSON.stringify(asked) })) as CreatedKey;
    await io.data(flags.json ? `${JSON.stringify(answer, null, 2)}\n` : `${answer.api_key}\n`);
    io.note('This key is shown once: store it now.');
  },
});

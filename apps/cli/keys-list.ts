import { Api } from './api.js';
import { command } from './command.js';
import { connectionFlags, findConnection } from './connection.js';
import { aligned } from './text.js';

interface ListedKey {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly suffix: string;
  readonly scopes: readonly string[];
  /** Absent in the answer of an older server. */
  readonly sources?: readonly string[];
  readonly created_ms: number;
  /** These two are absent in the answer of an older server. */
  readonly last_used_ms?: number | null;
  readonly last_used_from?: string | null;
}

export const body = command({
  about: 'Shows what is stored of each key, which is never the key itself. Needs a key with the scope admin.',
  flags: { ...connectionFlags, json: { about: 'print the answer of the server as JSON' } },
  examples: ['headwater keys list', 'headwater keys list --json | jq -r ".[].id"'],
  async run(flags, io) {
    const answer = await new Api(await findConnection(flags)).request('/api/api-keys');
    if (flags.json) return io.data(`${JSON.stringify(answer, null, 2)}\n`);
    return io.data(table(answer as readonly ListedKey[]));
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

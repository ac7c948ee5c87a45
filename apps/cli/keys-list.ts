import type { ApiKey } from '#client';
import { command } from './command.js';
import { connectionFlags, connect } from './connection.js';
import { aligned } from './text.js';

/** The answer of an older server lacks some. */
type ListedKey = Omit<ApiKey, 'sources' | 'last_used_ms' | 'last_used_from'> & Partial<ApiKey>;

export const body = command({
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

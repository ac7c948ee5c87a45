import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { HeadwaterError } from './error.js';
import type { Server } from './request.js';
import { serverOf, type Where } from './settings.js';

/** What is kept for later, such as the file of `headwater init`. */
export type ReadStored = () => Promise<Pick<Where, 'url' | 'apiKey'>>;

/** Address and key, each from the argument, else HEADWATER_URL or HEADWATER_API_KEY, else what `read` finds. */
export async function findServer(where: Where, read: ReadStored = readSettings): Promise<Server> {
  const url = where.url || process.env['HEADWATER_URL'];
  const apiKey = where.apiKey || process.env['HEADWATER_API_KEY'];
  const stored = url && apiKey ? {} : await read();
  return serverOf({ url: url || stored.url, apiKey: apiKey || stored.apiKey, fetch: where.fetch });
}

/** The file of `headwater init` and `headwater login`, in the XDG config folder. */
export function settingsFile(): string {
  const xdg = process.env['XDG_CONFIG_HOME'];
  return join(xdg && isAbsolute(xdg) ? xdg : join(homedir(), '.config'), 'headwater', 'config.json');
}

/** What stands in that file; nothing when there is none. Rejects `HeadwaterError`. */
export const readSettings: ReadStored = async () => {
  const file = settingsFile();
  try {
    const { url, api_key: apiKey } = JSON.parse(await readFile(file, 'utf8')) as { url?: string; api_key?: string };
    return { ...(url && { url }), ...(apiKey && { apiKey }) };
  } catch (cause) {
    if ((cause as { readonly code?: string }).code === 'ENOENT') return {};
    throw new HeadwaterError(`${file} cannot be read: mend it, or write it again with \`headwater init\`.`, 'invalid_settings', { cause });
  }
};

/** Replaces that file in one step; only the user can read it. */
export async function writeSettings({ url, apiKey }: { readonly url: string; readonly apiKey: string }): Promise<void> {
  const file = settingsFile();
  const fresh = `${file}.${process.pid}`;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(fresh, `${JSON.stringify({ url, api_key: apiKey }, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  await rename(fresh, file);
}

import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import type { Values } from './command.js';
import { Failure, usage } from './failure.js';

/** The address of a server and the key for it. */
export interface Connection {
  readonly url: string;
  readonly apiKey: string;
}

export const defaultUrl = 'http://localhost:8080';

/** The flags of every command that talks to a server. */
export const connectionFlags = {
  url: { value: 'URL', about: `address of the server (else HEADWATER_URL, the file of \`init\`, ${defaultUrl})` },
  apiKey: { value: 'KEY', about: 'API key; others on this machine see it in `ps`, so prefer HEADWATER_API_KEY or `init`' },
} as const;

/** Address and key, each from a flag, else a variable, else the file that `init` or `login` wrote. */
export async function findConnection(flags: Values<typeof connectionFlags>): Promise<Connection> {
  const stored = await readConnection();
  const apiKey = flags.apiKey || process.env['HEADWATER_API_KEY'] || stored.apiKey;
  if (!apiKey) throw usage('There is no API key: run `headwater init` or `headwater login`, or set HEADWATER_API_KEY.');
  return { url: serverUrl(flags.url || process.env['HEADWATER_URL'] || stored.url || defaultUrl), apiKey: headerValue(apiKey) };
}

/** The URL without a slash at its end. */
export function serverUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) throw usage(`"${text}" is not the address of a server: write it like ${defaultUrl}.`);
  if (url.username || url.password || url.search || url.hash)
    throw usage('The address of the server must be like https://host:port/path, with nothing else in it.');
  return url.href.replace(/\/+$/, '');
}

/** The key as it can stand in a header. */
export function headerValue(apiKey: string): string {
  const key = apiKey.trim();
  if (!/^[\x21-\x7e]+$/.test(key)) throw usage('The API key is empty or has characters that no key has: copy it again.');
  return key;
}

/** The address in the file of `init`; undefined when there is none. */
export const storedUrl = async (): Promise<string | undefined> => (await readConnection()).url;

/** The file of `init` and `login`, in the XDG config folder. */
export function connectionFile(): string {
  const xdg = process.env['XDG_CONFIG_HOME'];
  return join(xdg && isAbsolute(xdg) ? xdg : join(homedir(), '.config'), 'headwater', 'config.json');
}

async function readConnection(): Promise<Partial<Connection>> {
  const file = connectionFile();
  try {
    const { url, api_key: apiKey } = JSON.parse(await readFile(file, 'utf8')) as { url?: string; api_key?: string };
    return { ...(url && { url }), ...(apiKey && { apiKey }) };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Failure(`${file} cannot be read: mend it, or write it again with \`headwater init\`.`, undefined, { cause });
  }
}

/** Replaces that file in one step; only the user can read it. */
export async function writeConnection({ url, apiKey }: Connection): Promise<void> {
  const file = connectionFile();
  const fresh = `${file}.${process.pid}`;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(fresh, `${JSON.stringify({ url, api_key: apiKey }, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  await rename(fresh, file);
}

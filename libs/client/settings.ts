import { HeadwaterError } from './error.js';
import type { Server } from './request.js';

/** How a server is named in code. What is left out comes from the environment or the file of `headwater init`. */
export interface Where {
  readonly url?: string | undefined;
  readonly apiKey?: string | undefined;
  /** Takes the place of the global one. */
  readonly fetch?: typeof fetch | undefined;
}

/** What is kept for later: the file of `headwater init`, or nothing where there are no files. */
export type ReadStored = () => Promise<Pick<Where, 'url' | 'apiKey'>>;

export const defaultUrl = 'http://localhost:8080';

/** Address and key, each from the argument, else HEADWATER_URL or HEADWATER_API_KEY, else what `read` finds. */
export async function findServer(where: Where, read: ReadStored): Promise<Server> {
  const url = where.url || variable('HEADWATER_URL');
  const apiKey = where.apiKey || variable('HEADWATER_API_KEY');
  const stored = url && apiKey ? {} : await read();
  const key = apiKey || stored.apiKey;
  return { url: serverUrl(url || stored.url || defaultUrl), apiKey: key ? headerValue(key) : undefined, fetch: where.fetch };
}

/** The URL without a slash at its end. @throws HeadwaterError */
export function serverUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) throw invalid(`"${text}" is not the address of a server: write it like ${defaultUrl}.`);
  if (url.username || url.password || url.search || url.hash)
    throw invalid('The address of the server must be like https://host:port/path, with nothing else in it.');
  return url.href.replace(/\/+$/, '');
}

/** The key as it can stand in a header. @throws HeadwaterError that does not show it */
export function headerValue(apiKey: string): string {
  const key = apiKey.trim();
  if (!/^[\x21-\x7e]+$/.test(key)) throw invalid('The API key is empty or has characters that no key has: copy it again.');
  return key;
}

const invalid = (message: string): HeadwaterError => new HeadwaterError(message, 'invalid_argument');

/** An environment variable, where there is an environment. */
function variable(name: string): string | undefined {
  const { process } = globalThis as { readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> } };
  return process?.env?.[name];
}

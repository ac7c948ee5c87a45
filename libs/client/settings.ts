import { invalid } from './error.js';
import type { Server } from './request.js';

/** How a server is named in code. What is left out comes from the environment or the file of `headwater init`. */
export interface Where {
  readonly url?: string | undefined;
  readonly apiKey?: string | undefined;
  /** Takes the place of the global one. */
  readonly fetch?: typeof fetch | undefined;
}

/** Completes what code says about a server. */
export type FindServer = (where: Where) => Server | Promise<Server>;

export const defaultUrl = 'http://localhost:8080';

/** The server that code names. @throws HeadwaterError */
export const serverOf = ({ url, apiKey, fetch }: Where): Server => ({
  url: serverUrl(url || defaultUrl),
  apiKey: apiKey ? headerValue(apiKey) : undefined,
  fetch,
});

/** The URL without a slash at its end. @throws HeadwaterError */
export function serverUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text).href : '';
  // What it is instead is not shown: it may hold a password.
  if (!/^https?:\/\/[^/@]+\/[^?#]*$/.test(url))
    throw invalid(`This is not the address of a server: write it like ${defaultUrl}, with nothing else in it.`);
  return url.replace(/\/+$/, '');
}

/** The key as it can stand in a header. @throws HeadwaterError that does not show it */
export function headerValue(apiKey: string): string {
  const key = apiKey.trim();
  if (!/^[\x21-\x7e]+$/.test(key)) throw invalid('The API key is empty or damaged: copy it again.');
  return key;
}

/** Finds the server at the first use and keeps it until it is to be forgotten. Failures are not kept. */
export interface KeptServer {
  readonly server: () => Promise<Server>;
  readonly forget: () => void;
}

export function keptServer(where: Where, find: FindServer): KeptServer {
  let found: Promise<Server> | undefined;
  const forget = (): void => (found = undefined);
  return {
    forget,
    server() {
      found ??= Promise.resolve(where).then(find);
      found.catch(forget);
      return found;
    },
  };
}

import { sessionMs } from '#model';
import { cookieIn, cookieOf } from './cookies.js';
import type { PublicUrl } from './public-url.js';

/** The cookie that a browser keeps its session in. */
const name = 'headwater_session';

/** The token in a Cookie header; undefined when there is none. */
export const tokenIn = (header: string | undefined, publicUrl: PublicUrl): string | undefined => cookieIn(header, name, publicUrl);

/** The Set-Cookie header for a token, or the one that ends the cookie. */
export const sessionCookie = (token: string | undefined, publicUrl: PublicUrl): string =>
  cookieOf(name, token, sessionMs / 1000, publicUrl);

import { sessionMs } from '#model';
import type { PublicUrl } from './public-url.js';

const name = 'headwater_session';
/** Long headers are looked at no further. */
const maxHeaderChars = 8192;

/** The cookie that a browser keeps its session in. Over TLS browsers see to it that it comes from this very host, by its name. */
const nameOf = ({ isSecure }: PublicUrl): string => (isSecure ? `__Host-${name}` : name);

/** The token in a Cookie header; undefined when there is none. The first one counts. */
export function tokenIn(header: string | undefined, publicUrl: PublicUrl): string | undefined {
  const begin = `${nameOf(publicUrl)}=`;
  const pairs = (header ?? '').slice(0, maxHeaderChars).split(';');
  return pairs
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(begin))
    ?.slice(begin.length);
}

/** The Set-Cookie header for a token, or the one that ends the cookie. */
export function sessionCookie(token: string | undefined, publicUrl: PublicUrl): string {
  const age = token === undefined ? 0 : sessionMs / 1000;
  return `${nameOf(publicUrl)}=${token ?? ''}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Lax${publicUrl.isSecure ? '; Secure' : ''}`;
}

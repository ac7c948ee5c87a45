import type { PublicUrl } from './public-url.js';

/** Long headers are looked at no further. */
const maxHeaderChars = 8192;

/** The name of a cookie of ours. Over TLS browsers see to it that it comes from this very host, by its name. */
const fullName = (name: string, { isSecure }: PublicUrl): string => (isSecure ? `__Host-${name}` : name);

/** What a Cookie header says under a name; undefined when it says nothing. The first one counts. */
export function cookieIn(header: string | undefined, name: string, publicUrl: PublicUrl): string | undefined {
  const begin = `${fullName(name, publicUrl)}=`;
  const pairs = (header ?? '').slice(0, maxHeaderChars).split(';');
  return pairs
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(begin))
    ?.slice(begin.length);
}

/** The Set-Cookie header for a value that no script sees; without a value the one that ends the cookie. */
export function cookieOf(name: string, value: string | undefined, ageS: number, publicUrl: PublicUrl): string {
  const age = value === undefined ? 0 : ageS;
  return `${fullName(name, publicUrl)}=${value ?? ''}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Lax${publicUrl.isSecure ? '; Secure' : ''}`;
}

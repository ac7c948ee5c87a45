import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { normalEmail } from '#model';

/** What the text of a variable must be. */
export interface Kind<T> {
  /** Undefined when the text is not of this kind. */
  readonly parse: (text: string) => T | undefined;
  /** The end of the sentence "X must be …". */
  readonly expected: string;
}

export const matching = (pattern: RegExp, expected: string): Kind<string> => ({
  parse: (text) => (pattern.test(text) ? text : undefined),
  expected,
});
export const oneOf = <const T extends string>(...words: readonly T[]): Kind<T> => ({
  parse: (text) => words.find((word) => word === text),
  expected: `one of ${words.join(', ')}`,
});
export const whole = (min: number, max: number): Kind<number> => ({
  parse: (text) => (/^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined),
  expected: `a whole number from ${min} to ${max}`,
});
/** A number of names; `auto` is what suits the shape. */
export const names: Kind<number | 'auto'> = {
  parse: (text) => (text === 'auto' ? text : whole(1, 999_999_999).parse(text)),
  expected: 'auto, or a whole number from 1 to 999999999',
};
const hoursOf: Readonly<Record<string, number>> = { h: 1, d: 24 };
/** How long something is kept, milliseconds; `Infinity` for ever. */
export const keptFor = (leastHours: number): Kind<number> => ({
  parse: (text) => {
    const [, count, unit] = /^(\d{1,6})([hd])$/.exec(text) ?? [];
    const hours = text === 'all' ? Infinity : Number(count) * hoursOf[unit ?? '']!;
    return hours >= leastHours ? hours * 3_600_000 : undefined;
  },
  expected: `all, or a time of at least ${leastHours}h such as 36h or 30d`,
});
/** Without a name or password, which errors would show. */
export const httpUrl: Kind<string> = {
  parse: (text) => {
    const url = URL.parse(text);
    return url && ['http:', 'https:'].includes(url.protocol) && !url.username && !url.password ? text.replace(/\/+$/, '') : undefined;
  },
  expected: 'a URL that begins with http:// or https://, without a name or password in it',
};
/** As it is written: to OpenID providers a slash at the end makes it another one. What goes over a network is encrypted. */
export const issuer: Kind<string> = {
  parse: (text) => {
    const url = URL.parse(text);
    const isHere = url?.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
    const isFine = (isHere || url?.protocol === 'https:') && !url.username && !url.password && !/[?#]/.test(text);
    return text === '' || isFine ? text : undefined;
  },
  expected: 'a URL that begins with https://, or http:// on this machine, without a query, a name or a password',
};
export const smtpUrl: Kind<string> = {
  parse: (text) => {
    const url = URL.parse(text);
    return text === '' || (url?.hostname && ['smtp:', 'smtps:'].includes(url.protocol)) ? text : undefined;
  },
  expected: 'a URL that begins with smtp:// or smtps://',
};
export const email: Kind<string> = {
  parse: (text) => (text === '' || normalEmail(text) ? text : undefined),
  expected: 'an e-mail address',
};
/** The root of a host: the cookie of a session is for all of it, and links begin with it. */
export const publicUrl: Kind<string> = {
  parse: (text) => {
    const url = text === '' ? undefined : httpUrl.parse(text);
    return text === '' || (url !== undefined && new URL(url).pathname === '/' && !/[?#]/.test(url)) ? (url ?? text) : undefined;
  },
  expected: 'a URL that begins with http:// or https:// and ends with the host or its port',
};
const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'];
export const pgUrl: Kind<string> = {
  parse: (text) => {
    const url = URL.parse(text);
    // `pg` would take others, such as `ssl=false`, before ours.
    const tls = [...(url?.searchParams ?? [])].filter(([name]) => name.startsWith('ssl'));
    const isFine = tls.every(([name, value]) => name === 'sslmode' && sslModes.includes(value));
    return url && isFine && ['postgres:', 'postgresql:'].includes(url.protocol) ? text.replace(/\/+$/, '') : undefined;
  },
  expected: 'a URL that begins with postgres://, with sslmode=verify-full and nothing else for TLS',
};
export const anyText = matching(/^/, 'a text');
export const token = matching(/^[!-~]*$/, 'a token of visible ASCII characters');
const orNothing = ({ parse, expected }: Kind<string>): Kind<string> => ({ parse: (text) => (text === '' ? text : parse(text)), expected });
/** PEM that this can read. */
const pem = (read: (text: string) => unknown, expected: string): Kind<string> =>
  orNothing({
    parse: (text) => {
      try {
        read(text);
        return text;
      } catch {
        return undefined;
      }
    },
    expected,
  });
export const certificates = pem((text) => new X509Certificate(text), 'certificates in PEM');
export const privateKey = pem(createPrivateKey, 'a private key in PEM that needs no passphrase');
export const folder: Kind<string> = { parse: (text) => resolve(text), expected: 'a folder' };
export const host = matching(/^[\w.:-]+$/, 'an address or host name');
export const port: Kind<number> = { ...whole(0, 65_535), expected: 'a port from 0 to 65535' };

/** Items with commas between them; undefined when one of them is wrong. */
const list = (text: string, isItem: (item: string) => boolean): readonly string[] | undefined => {
  const items = text.split(',').map((item) => item.trim());
  return items.every(isItem) ? items : undefined;
};
export const addresses: Kind<readonly string[]> = {
  parse: (text) => list(text, (item) => /^[\w.-]+:\d{1,5}$/.test(item)),
  expected: 'addresses like host:9092 with commas between',
};
export const networks: Kind<readonly string[]> = {
  parse: (text) => list(text, (item) => item === '' || isNetwork(item))?.filter(Boolean),
  expected: 'addresses or networks like 10.0.0.0/8 with commas between',
};

function isNetwork(item: string): boolean {
  const [address, bits, ...rest] = item.split('/');
  const version = isIP(address!);
  const maxBits = version === 4 ? 32 : 128;
  return version !== 0 && rest.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits));
}

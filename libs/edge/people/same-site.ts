import type { FastifyRequest } from 'fastify';
import { TelemetryError } from '#model';
import type { PublicUrl } from './public-url.js';

/** Methods that change nothing. */
const safe = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses what a page of another origin makes a browser ask for. A browser says of itself where a request comes from, in headers that no
 * page can set: `Sec-Fetch-Site` over TLS and on this machine, else `Origin`. Where there is neither it is no browser, and brings cookies
 * only because its user wants it to. A page with `Referrer-Policy: no-referrer` sends `Origin: null` with its forms, so ours must not have it.
 *
 * @throws TelemetryError `cross_site`.
 */
export function checkSameSite({ method, headers }: Pick<FastifyRequest, 'method' | 'headers'>, publicUrl: PublicUrl): void {
  // A WebSocket is checked although it is a GET: browsers let pages of any origin open and read one.
  if (safe.has(method) && headers.upgrade === undefined) return;
  const site = headers['sec-fetch-site'];
  const isOurs =
    site === undefined ? isOwnOrigin(headers.origin, headers.host, publicUrl.origin) : site === 'same-origin' || site === 'none';
  if (!isOurs) throw new TelemetryError('cross_site', 'Do this on a page of this server: another site has asked for it.');
}

function isOwnOrigin(origin: string | undefined, host: string | undefined, own: string | undefined): boolean {
  if (origin === undefined) return true;
  return own === undefined ? URL.parse(origin)?.host === host : origin === own;
}

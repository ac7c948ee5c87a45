const pattern = /^http:\/\/(?:127\.0\.0\.1|localhost):([1-9]\d{0,4})(?:\/[A-Za-z0-9._~/-]*)?$/;
const maxChars = 512;

/**
 * A place that waits on the machine of the person who looks: exactly this address, a port and perhaps a path, so that no reader of addresses
 * can take it for another machine. Undefined for anything else: also for `[::1]`, which no policy for the forms of a page can name, so that a
 * browser would not go there once the key is made.
 */
export function loopbackCallback(text: string): URL | undefined {
  const [, port] = text.length <= maxChars ? (pattern.exec(text) ?? []) : [];
  return port !== undefined && Number(port) <= 65_535 ? new URL(text) : undefined;
}

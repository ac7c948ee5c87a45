export const maxNameBytes = 256;

/** True when the UTF-8 of `text` has at most `limit` bytes. */
export function fitsUtf8(text: string, limit: number): boolean {
  if (text.length > limit) return false;
  return text.length * 3 <= limit || Buffer.byteLength(text) <= limit;
}

const sourceIdPattern = /^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,255}$/;

export function isSourceId(value: unknown): value is string {
  return typeof value === 'string' && sourceIdPattern.test(value);
}

/** Without a slash, so that the key of a source, `org/source`, has one reading. */
export const isOrgId = (value: string): boolean => value !== '' && !/[/\0]/.test(value) && fitsUtf8(value, maxNameBytes);

/** Any Unicode of 1 to 256 bytes but NUL and lone surrogates. */
export function isMetric(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && fitsUtf8(value, maxNameBytes) && !value.includes('\0') && value.isWellFormed();
}

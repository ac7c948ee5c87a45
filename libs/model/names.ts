import { TelemetryError } from './errors.js';
import { fitsUtf8 } from './utf8.js';

export const maxNameBytes = 256;

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

/** @throws TelemetryError `invalid_source_id`. */
export function checkSourceId(text: string): string {
  if (isSourceId(text)) return text;
  throw new TelemetryError(
    'invalid_source_id',
    'Use a source id of 1 to 256 of A-Z a-z 0-9 . _ : @ + - that begins with a letter or digit.',
  );
}

/** @throws TelemetryError `invalid_metric`. */
export function checkMetric(text: string): string {
  if (isMetric(text)) return text;
  throw new TelemetryError('invalid_metric', 'Use a metric name of 1 to 256 bytes of UTF-8 without NUL or lone surrogates.');
}

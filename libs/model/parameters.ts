import { TelemetryError } from './errors.js';
import { isMetric, isSourceId } from './names.js';

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

/** The most rows or log entries of one answer. */
export const maxRows = 10_000;

/**
 * A whole number from 1 to 10,000.
 *
 * @param name of the parameter, for the error's sentence.
 * @throws TelemetryError `invalid_limit`.
 */
export function parseLimit(text: string, name: string): number {
  const limit = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= maxRows) return limit;
  throw new TelemetryError('invalid_limit', `Let ${name} be a whole number from 1 to ${maxRows}.`);
}

/**
 * Metric names with commas between them. Blanks around a name are dropped, and so are empty names. `\,` is a comma inside a name; any
 * other backslash stands for itself, so that a name may end in one only at the end of the list. Undefined when it names none.
 *
 * @param lists decoded values of a parameter that may come several times.
 * @throws TelemetryError `invalid_metric`.
 */
export function parseMetricsList(lists: readonly string[]): readonly string[] | undefined {
  const names = lists
    .flatMap((list) => list.split(/(?<!\\),/))
    .map((name) => withoutBlanks(name).replaceAll('\\,', ','))
    .filter((name) => name !== '');
  return names.length === 0 ? undefined : [...new Set(names.map(checkMetric))];
}

function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length];
  while (text[start] === ' ') start++;
  while (end > start && text[end - 1] === ' ') end--;
  return text.slice(start, end);
}

import { TelemetryError } from './errors.js';
import { checkMetric } from './names.js';

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
 * The names in the parameter `metrics`, split at literal commas: `%2C` is a comma in a name. Undefined when it names none.
 *
 * @param query the query string as sent, without its question mark.
 * @throws TelemetryError `invalid_parameter` for what is not percent-encoded UTF-8, `invalid_metric`.
 */
export function parseMetricsList(query: string): readonly string[] | undefined {
  const names = query
    .split('&')
    .map((pair) => pair.split(/=(.*)/s))
    .filter(([key]) => decode(key!) === 'metrics')
    .flatMap(([, value = '']) => value.split(','))
    .filter((name) => name !== '')
    .map((name) => checkMetric(decode(name)));
  return names.length === 0 ? undefined : [...new Set(names)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new TelemetryError('invalid_parameter', 'Write the query string as percent-encoded UTF-8.');
  }
}

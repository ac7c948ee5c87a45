import { z } from 'zod';
import { TelemetryError, type ErrorCode } from '#model';

/** What is wrong with a parameter before anybody looks at what it says. */
const codeOf: Readonly<Record<string, ErrorCode>> = {
  metric: 'invalid_metric',
  name: 'invalid_metric',
  last: 'invalid_window',
  start: 'invalid_window',
  end: 'invalid_window',
  interval: 'invalid_interval',
  limit: 'invalid_limit',
  tail: 'invalid_limit',
};

const refuse = (name: string, detail: string): TelemetryError => new TelemetryError(codeOf[name] ?? 'invalid_parameter', detail);

/** In an offset a plus is a plus, in all other texts it is a space. */
const plusIsPlus: ReadonlySet<string> = new Set(['start', 'end']);

/**
 * The parameters of a URL that a schema knows. A text comes once and decoded; an array is split at its commas and not decoded yet, so
 * that `%2C` is a comma in an item, and may come several times.
 *
 * @throws TelemetryError with the code of the parameter that is wrong.
 */
export function readQuery<S extends z.ZodObject>(schema: S, url: string): z.output<S> {
  const sent = rawValues(url);
  const input: Record<string, unknown> = {};
  for (const [name, type] of Object.entries(schema.shape)) {
    const values = sent.get(name);
    if (values) input[name] = isList(type) ? values.flatMap((value) => value.split(',')) : decoded(name, values);
  }
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const name = String(result.error.issues[0]!.path[0]);
  throw refuse(name, input[name] === undefined ? `Send the parameter ${name}.` : `${name}: ${result.error.issues[0]!.message}.`);
}

function rawValues(url: string): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  const start = url.indexOf('?');
  if (start < 0) return values;
  for (const pair of url.slice(start + 1).split('&')) {
    const equals = pair.indexOf('=');
    const name = equals < 0 ? pair : pair.slice(0, equals);
    const value = equals < 0 ? '' : pair.slice(equals + 1);
    const earlier = values.get(name);
    if (earlier) earlier.push(value);
    else values.set(name, [value]);
  }
  return values;
}

function decoded(name: string, values: readonly string[]): string {
  if (values.length > 1) throw refuse(name, `Send the parameter ${name} once.`);
  try {
    return decodeURIComponent(plusIsPlus.has(name) ? values[0]! : values[0]!.replaceAll('+', ' '));
  } catch {
    throw refuse(name, `Write the parameter ${name} as percent-encoded UTF-8.`);
  }
}

function isList(type: unknown): boolean {
  if (type instanceof z.ZodOptional) return isList(type.unwrap());
  return type instanceof z.ZodPipe ? isList(type.in) : type instanceof z.ZodArray;
}

import { z } from 'zod';
import { TelemetryError, type ErrorCode } from '#model';

/** The code of an error in a parameter, whatever is wrong with it. */
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

/** In these parameters a plus is a plus, because a time may have an offset. In all others it is a space. */
const plusIsPlus: ReadonlySet<string> = new Set(['start', 'end', 'since']);

/**
 * The parameters of a URL that a schema knows, names and values decoded. A text comes once; an array holds the values of all times that
 * the parameter came.
 *
 * @throws TelemetryError with the code of the parameter that is wrong.
 */
export function readQuery<S extends z.ZodObject>(schema: S, url: string): z.output<S> {
  const sent = rawValues(url);
  const input: Record<string, unknown> = {};
  for (const [name, type] of Object.entries(schema.shape)) {
    const values = sent.get(name)?.map((value) => valueOf(name, value));
    if (!values) continue;
    if (values.length > 1 && !isList(type)) throw refuse(name, `Send the parameter ${name} once.`);
    input[name] = isList(type) ? values : values[0];
  }
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const name = String(result.error.issues[0]!.path[0]);
  throw refuse(name, input[name] === undefined ? `Send the parameter ${name}.` : `${name}: ${result.error.issues[0]!.message}.`);
}

/** Values as they were sent, by decoded name. */
function rawValues(url: string): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  const start = url.indexOf('?');
  if (start < 0) return values;
  for (const pair of url.slice(start + 1).split('&')) {
    const equals = pair.indexOf('=');
    const name = decoded(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? '' : pair.slice(equals + 1);
    // A name that cannot be decoded is none that a schema knows.
    if (name === undefined) continue;
    const earlier = values.get(name);
    if (earlier) earlier.push(value);
    else values.set(name, [value]);
  }
  return values;
}

function valueOf(name: string, value: string): string {
  const text = decoded(plusIsPlus.has(name) ? value : value.replaceAll('+', ' '));
  if (text === undefined) throw refuse(name, `Write the parameter ${name} as percent-encoded UTF-8.`);
  return text;
}

/** Undefined for what is not percent-encoded UTF-8. */
function decoded(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function isList(type: unknown): boolean {
  if (type instanceof z.ZodOptional) return isList(type.unwrap());
  return type instanceof z.ZodPipe ? isList(type.in) : type instanceof z.ZodArray;
}

import { isOfType, jsonType } from '../read-body.js';

/** A POST of plain JSON, as most devices send it: a head in which nothing is unusual, and the length of the body behind it. */
export interface PlainPost {
  readonly path: string;
  readonly apiKey: string;
  readonly traceparent: string | undefined;
  readonly bodyBytes: number;
}

const anything = (): boolean => true;

/** The headers that such a request may have, each once, and what they may say. */
const headers: ReadonlyMap<string, (value: string) => boolean> = new Map<string, (value: string) => boolean>([
  ['host', anything],
  ['user-agent', anything],
  ['accept', anything],
  ['accept-encoding', anything],
  ['accept-language', anything],
  ['sec-fetch-mode', anything],
  ['traceparent', anything],
  ['connection', (value) => value.toLowerCase() === 'keep-alive'],
  ['content-type', (value) => isOfType(value, jsonType)],
  ['content-length', (value) => /^[1-9]\d{0,5}$/.test(value)],
  ['x-api-key', (value) => value !== ''],
]);
const needed = ['host', 'content-type', 'content-length', 'x-api-key'];

/** A subset of what RFC 9112 allows, so that no two readers of these bytes can disagree about where a request ends. */
const shape = /^POST (\/[\w/-]*) HTTP\/1\.1\r\n((?:[\w-]+:[\t\x20-\x7e\x80-\xff]*\r\n)+)\r\n$/;

/**
 * Reads the head of a request, to the empty line behind it. Undefined where anything in it is unusual: that is not to say that it is wrong.
 *
 * @param head its bytes as Latin-1, as Node has the values of headers.
 */
export function plainPost(head: string): PlainPost | undefined {
  const [, path, lines] = shape.exec(head) ?? [];
  if (path === undefined) return undefined;
  const values = new Map<string, string>();
  for (const line of lines!.split('\r\n', headers.size + 1)) {
    if (line === '') break;
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).replace(/^[\t ]+|[\t ]+$/g, '');
    if (values.has(name) || !headers.get(name)?.(value)) return undefined;
    values.set(name, value);
  }
  if (!needed.every((name) => values.has(name))) return undefined;
  return {
    path,
    apiKey: values.get('x-api-key')!,
    traceparent: values.get('traceparent'),
    bodyBytes: Number(values.get('content-length')),
  };
}

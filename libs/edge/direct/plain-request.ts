import { isOfType, jsonType } from '../read-body.js';

/** A request as most devices and charts send it: a GET, or a POST of plain JSON, with a head in which nothing is unusual. */
export interface PlainRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** The path, and the query string with its question mark where there is one. */
  readonly url: string;
  readonly apiKey: string;
  readonly traceparent: string | undefined;
  /** Length of the body behind the head. A POST has a body, a GET has none. */
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
const needed = ['host', 'x-api-key'];
/** A POST has all of these, a GET none. */
const ofBody = ['content-type', 'content-length'];

/** A subset of what RFC 9112 allows, so that no two readers of these bytes can disagree about where a request ends. */
const shape = /^(GET|POST) ((\/[\w/.:@+-]*)(?:\?[\w.~:@!$&'()*+,;=/?%-]*)?) HTTP\/1\.1\r\n((?:[\w-]+:[\t\x20-\x7e\x80-\xff]*\r\n)+)\r\n$/;

/**
 * Reads the head of a request, to the empty line behind it. Undefined where anything in it is unusual: that is not to say that it is wrong.
 *
 * @param head its bytes as Latin-1, as Node has the values of headers.
 */
export function plainRequest(head: string): PlainRequest | undefined {
  const [, method, url, path, lines] = shape.exec(head) ?? [];
  if (method === undefined) return undefined;
  const values = new Map<string, string>();
  for (const line of lines!.split('\r\n', headers.size + 1)) {
    if (line === '') break;
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).replace(/^[\t ]+|[\t ]+$/g, '');
    if (values.has(name) || !headers.get(name)?.(value)) return undefined;
    values.set(name, value);
  }
  const isPost = method === 'POST';
  if (!needed.every((name) => values.has(name)) || !ofBody.every((name) => values.has(name) === isPost)) return undefined;
  return {
    method: isPost ? 'POST' : 'GET',
    path: path!,
    url: url!,
    apiKey: values.get('x-api-key')!,
    traceparent: values.get('traceparent'),
    bodyBytes: Number(values.get('content-length') ?? 0),
  };
}

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Random, until } from '#testing';
import { plainRequest, type PlainRequest } from './plain-request.js';

const start = 'POST /ingest HTTP/1.1';
/** What a plain head has at least, by the name of the header. */
const least = { host: 'Host: h', type: 'Content-Type: application/json', length: 'Content-Length: 7', key: 'x-api-key: hw_k' };

const headOf = (first: string, lines: readonly string[]): string => [first, ...lines, '', ''].join('\r\n');
/** The least plain head, with some of its lines in other words and further lines behind it. */
const withLines = (other: Partial<typeof least>, ...more: readonly string[]): string =>
  headOf(start, [...Object.values({ ...least, ...other }), ...more]);
/** The least plain head without one of its lines. */
const without = (name: keyof typeof least): string =>
  headOf(
    start,
    Object.entries(least).flatMap(([one, line]) => (one === name ? [] : [line])),
  );

const read: PlainRequest = { method: 'POST', path: '/ingest', url: '/ingest', apiKey: 'hw_k', traceparent: undefined, bodyBytes: 7 };
/** The head of a GET of this URL, and what is read from the least there is. */
const get = (url: string, ...more: readonly string[]): string => headOf(`GET ${url} HTTP/1.1`, [least.host, least.key, ...more]);
const asked = (url: string): PlainRequest => ({ ...read, method: 'GET', path: url.split('?', 1)[0]!, url, bodyBytes: 0 });

it.each<readonly [what: string, head: string, differs: Partial<PlainRequest>]>([
  ['the least there is', withLines({}), {}],
  ['its lines in another order', headOf(start, Object.values(least).toReversed()), {}],
  ['the path of the root', headOf('POST / HTTP/1.1', Object.values(least)), { path: '/', url: '/' }],
  ['a longer path', headOf('POST /v1/in-gest_2/ HTTP/1.1', Object.values(least)), { path: '/v1/in-gest_2/', url: '/v1/in-gest_2/' }],
  ['names in lower case', withLines({}).replaceAll(/^[\w-]+:/gm, (name) => name.toLowerCase()), {}],
  ['names in capitals', withLines({}).replaceAll(/^[\w-]+:/gm, (name) => name.toUpperCase()), {}],
  ['no blank behind a colon', withLines({}).replaceAll(': ', ':'), {}],
  ['blanks and tabs around values', withLines({}).replaceAll(/: (.*)$/gm, ':\t  $1 \t'), {}],
  ['a blank within a key', withLines({ key: 'x-api-key: hw k' }), { apiKey: 'hw k' }],
  ['a colon within a key', withLines({ key: 'x-api-key: a:b: c' }), { apiKey: 'a:b: c' }],
  ['a key in Latin-1', withLines({ key: 'x-api-key: hw_\xe9\xff' }), { apiKey: 'hw_\xe9\xff' }],
  ['a host without a name', withLines({ host: 'Host:' }), {}],
  ['a body of one byte', withLines({ length: 'Content-Length: 1' }), { bodyBytes: 1 }],
  ['a body of six digits', withLines({ length: 'Content-Length: 999999' }), { bodyBytes: 999_999 }],
  ['a type with parameters', withLines({ type: 'Content-Type: application/json; charset=utf-8' }), {}],
  ['a type in capitals', withLines({ type: 'Content-Type: Application/JSON ;charset=UTF-8' }), {}],
  ['a traceparent', withLines({}, 'traceparent: 00-0af7-b7ad-01'), { traceparent: '00-0af7-b7ad-01' }],
  ['an empty traceparent', withLines({}, 'Traceparent: '), { traceparent: '' }],
  ['Connection: keep-alive', withLines({}, 'Connection: Keep-Alive'), {}],
  [
    'all that fetch of Node sends',
    withLines(
      {},
      'connection: keep-alive',
      'accept: */*',
      'accept-language: *',
      'sec-fetch-mode: cors',
      'user-agent: node',
      'accept-encoding: gzip',
    ),
    {},
  ],
  ['all that curl sends', withLines({}, 'User-Agent: curl/8.5.0', 'Accept: */*'), {}],
])('plain: %s', (_, head, differs) => {
  expect(plainRequest(head)).toEqual({ ...read, ...differs });
});

it.each(['/ingest?a=b', '/ingest?', '/ingest?a?b/c', '/./ingest'])('plain: a POST of %s', (url) => {
  expect(plainRequest(withLines({}).replace('/ingest', url))).toEqual({ ...read, path: url.split('?', 1)[0], url });
});

it.each([
  '/',
  '/v1/sources/press-7/metrics/query',
  '/v1/sources/a.b:c@d+e_f/metrics/query?start=2026-01-31T12:00:00Z&end=2026-02-01',
  '/v1/sources?after=caf%C3%A9&limit=10',
  "/a?!$&'()*+,;=~:@/?%",
  '/../a',
  '/a?',
])('plain: a GET of %s', (url) => {
  expect(plainRequest(get(url))).toEqual(asked(url));
  expect(plainRequest(get(url, 'User-Agent: curl/8.5.0', 'Accept: */*', 'Connection: keep-alive'))).toEqual(asked(url));
  expect(plainRequest(get(url, 'traceparent: 00-1'))).toEqual({ ...asked(url), traceparent: '00-1' });
});

it.each([
  ['a body', get('/a', 'Content-Type: application/json', 'Content-Length: 7')],
  ['the length of a body', get('/a', 'Content-Length: 7')],
  ['the length of no body', get('/a', 'Content-Length: 0')],
  ['the type of a body', get('/a', 'Content-Type: application/json')],
  ['a body in chunks', get('/a', 'Transfer-Encoding: chunked')],
  ['another origin', get('/a', 'Origin: https://x.example')],
  ['a cookie', get('/a', 'Cookie: a=b')],
  ['a condition', get('/a', 'If-None-Match: "a"')],
  ['no key', headOf('GET /a HTTP/1.1', [least.host])],
  ['no host', headOf('GET /a HTTP/1.1', [least.key])],
  ['no headers', 'GET /a HTTP/1.1\r\n\r\n'],
  ['HEAD', get('/a').replace('GET', 'HEAD')],
  ['a blank in the query string', get('/a?b c')],
  ['a fragment', get('/a#b')],
  ['percent encoding in the path', get('/caf%C3%A9')],
])('not plain: a GET with %s', (_, head) => expect(plainRequest(head)).toBeUndefined());

describe('not plain:', () => {
  const line = (first: string): string => headOf(first, Object.values(least));

  it.each([
    ['another method', line('PUT /ingest HTTP/1.1')],
    ['a method in lower case', line('post /ingest HTTP/1.1')],
    ['HTTP/1.0', line('POST /ingest HTTP/1.0')],
    ['HTTP/1.10', line('POST /ingest HTTP/1.10')],
    ['http in lower case', line('POST /ingest http/1.1')],
    ['no version', line('POST /ingest')],
    ['an absolute URL', line('POST http://h/ingest HTTP/1.1')],
    ['no slash before the path', line('POST ingest HTTP/1.1')],
    ['an asterisk as the path', line('POST * HTTP/1.1')],
    ['a fragment', line('POST /ingest#a HTTP/1.1')],
    ['percent encoding in the path', line('POST /inges%74 HTTP/1.1')],
    ['a letter beyond ASCII in the query string', line('POST /ingest?a=\xe9 HTTP/1.1')],
    ['a quote in the query string', line('POST /ingest?a="b" HTTP/1.1')],
    ['a fragment behind the query string', line('POST /ingest?a#b HTTP/1.1')],
    ['two blanks before the path', line('POST  /ingest HTTP/1.1')],
    ['two blanks behind the path', line('POST /ingest  HTTP/1.1')],
    ['a blank behind the version', line('POST /ingest HTTP/1.1 ')],
    ['an empty line before the request', `\r\n${withLines({})}`],
  ])('%s', (_, head) => expect(plainRequest(head)).toBeUndefined());

  it.each([
    ['line ends that are bare LFs', withLines({}).replaceAll('\r\n', '\n')],
    ['one line end that is a bare LF', withLines({}).replace('h\r\n', 'h\n')],
    ['one line end that is a bare CR', withLines({}).replace('h\r\n', 'h\r')],
    ['a last line end that is a bare LF', withLines({}).replace(/\r\n$/, '\n')],
    ['no empty line at the end', withLines({}).slice(0, -2)],
    ['something behind the empty line', `${withLines({})}x`],
    ['an empty line in between', withLines({}).replace('\r\n', '\r\n\r\n')],
    ['no headers', `${start}\r\n\r\n`],
    ['nothing', ''],
    ['a value that goes on in the next line', withLines({}, 'Accept: a', ' b')],
    ['a value that goes on in the next line, with a tab', withLines({}, 'Accept: a', '\tb')],
    ['a blank before the first header', withLines({ host: ' Host: h' })],
    ['a blank before a colon', withLines({ host: 'Host : h' })],
    ['a tab before a colon', withLines({ length: 'Content-Length\t: 7' })],
    ['a line without a colon', withLines({}, 'Accept')],
    ['a header without a name', withLines({}, ': a')],
    ['a letter beyond ASCII in a name', withLines({}, 'Ac\xe7ept: a')],
  ])('%s', (_, head) => expect(plainRequest(head)).toBeUndefined());

  it.each(['Host: h', 'Accept: a', 'Content-Length: 7', 'Content-Type: application/json', 'x-api-key: hw_k', 'traceparent: a'])(
    'twice the line %s',
    (twice) => {
      const name = twice.split(':', 1)[0]!.toLowerCase();
      const others = Object.values(least).filter((one) => !one.toLowerCase().startsWith(`${name}:`));
      expect(plainRequest(headOf(start, [...others, twice]))).toBeDefined();
      expect(plainRequest(headOf(start, [...others, twice, twice]))).toBeUndefined();
      expect(plainRequest(headOf(start, [twice, ...others, twice.toUpperCase()]))).toBeUndefined();
    },
  );

  it.each([
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: identity',
    'Expect: 100-continue',
    'Content-Encoding: gzip',
    'Content-Encoding: identity',
    'Origin: https://x.example',
    'Cookie: a=b',
    'Upgrade: websocket',
    'Connection: close',
    'Connection: upgrade',
    'Connection: keep-alive, x-api-key',
    'Connection:',
    'Keep-Alive: timeout=5',
    'Trailer: x',
    'X-Forwarded-For: 192.0.2.1',
    'Authorization: Bearer hw_k',
    'X-Any: 1',
    'constructor: 1',
    '__proto__: 1',
  ])('with the line %s', (more) => {
    expect(plainRequest(withLines({}, more))).toBeUndefined();
    expect(plainRequest(headOf(start, [more, ...Object.values(least)]))).toBeUndefined();
  });

  it('more lines than there are names', () => {
    const many = Array.from({ length: 40 }, (_, at) => `x-${at}: ${at}`);
    expect(plainRequest(withLines({}, ...many))).toBeUndefined();
    const all = ['User-Agent', 'Accept', 'Accept-Encoding', 'Accept-Language', 'Sec-Fetch-Mode', 'traceparent', 'Connection'];
    const each = all.map((name) => `${name}: keep-alive`);
    expect(plainRequest(withLines({}, ...each))).toBeDefined();
    expect(plainRequest(withLines({}, ...each, 'Transfer-Encoding: chunked'))).toBeUndefined();
  });

  it.each([
    ['no host', without('host')],
    ['no type', without('type')],
    ['no key', without('key')],
    ['an empty key', withLines({ key: 'x-api-key:' })],
    ['a key of blanks', withLines({ key: 'x-api-key: \t ' })],
    ['no length', without('length')],
  ])('%s', (_, head) => expect(plainRequest(head)).toBeUndefined());

  it.each(['', '0', '00', '07', '+5', '-1', '0x5', '5.0', '5e1', '5 5', '5, 5', '5,5', '5;', '1234567', 'five', '\xb2'])(
    'the length %j',
    (length) => expect(plainRequest(withLines({ length: `Content-Length: ${length}` }))).toBeUndefined(),
  );

  it.each([
    '',
    'text/plain',
    'application/jsonp',
    'application/problem+json',
    'application/x-www-form-urlencoded',
    'text/plain, application/json',
  ])('the type %j', (type) => expect(plainRequest(withLines({ type: `Content-Type: ${type}` }))).toBeUndefined());

  it.each(['\0', '\x01', '\x08', '\x0b', '\f', '\x1b', '\x1f', '\x7f', '\r', '\n', '\u0100'])('the character %j in a value', (odd) => {
    for (const key of [`hw${odd}k`, `${odd}hw`, `hw${odd}`]) expect(plainRequest(withLines({ key: `x-api-key: ${key}` }))).toBeUndefined();
  });
});

/** What a server that only has `node:http` saw of a request. */
type Seen = Omit<PlainRequest, 'path' | 'method'> & { readonly method: string | undefined };

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

describe(`what is plain is to node:http what it is here, SEED=${seed}`, () => {
  const heads = 300;
  const connections = 6;
  const seen: Seen[] = [];
  const failures: string[] = [];
  let server: Server;

  beforeAll(async () => {
    server = createServer((request, response) => {
      const { method, url = '', headers } = request;
      void buffer(request).then((body) => {
        const [apiKey, traceparent] = [headers['x-api-key'] as string, headers['traceparent'] as string | undefined];
        seen.push({ method, url, apiKey, traceparent, bodyBytes: body.length });
        return response.end();
      });
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      failures.push(error.code ?? error.message);
      socket.destroy();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });

  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });

  const usualLines = [
    'User-Agent: curl/8.5.0',
    'Accept: */*',
    'accept-encoding: gzip, deflate',
    'Accept-Language: *',
    'sec-fetch-mode: cors',
    'Connection: keep-alive',
    'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    'Traceparent:\t\xe9 , \xff ',
  ];
  const oddLines = [
    'Transfer-Encoding: chunked',
    'Transfer-Encoding:\tidentity',
    'Content-Length: 3',
    'content-length: 03',
    'Content-Length : 3',
    'Expect: 100-continue',
    'Connection: close',
    'Connection: keep-alive, Content-Length',
    'Upgrade: h2c',
    'Content-Encoding: gzip',
    'X-Any: 1',
    'x-api-key: another',
    'Host: another',
    'Accept:\r\n folded',
    'Accept: a\rTransfer-Encoding: chunked',
    'Accept: a\nTransfer-Encoding: chunked',
    'Accept: a\0b',
    'Accept: a\x7fb',
    ' Accept: a',
    'Accept',
    ': a',
    'Ac cept: a',
    '',
  ];
  const lengths = ['1', '2', '9', '64', '999', '4096', '12345'];
  const oddLengths = ['0', '007', '+7', '7, 7', '7 7', '0x7', '7.0', '1234567', ''];
  const starts = ['POST / HTTP/1.1', 'POST /ingest HTTP/1.1', 'POST /v1/_-/ HTTP/1.1', 'POST //a HTTP/1.1', 'POST /a/../b?c=%0d HTTP/1.1'];
  const getStarts = ['GET / HTTP/1.1', "GET /a.b:c@d+e?f=g:h&i=%20,;/?!$'()*~ HTTP/1.1", 'GET //? HTTP/1.1'];
  const oddStarts = [
    'PUT / HTTP/1.1',
    'POST / HTTP/1.0',
    'POST http://h/ HTTP/1.1',
    'GET / HTTP/1.1',
    'GET /#a HTTP/1.1',
    'POST /?\xe9 HTTP/1.1',
    'POST  / HTTP/1.1',
    'POST /\xe9 HTTP/1.1',
    '\r\nPOST / HTTP/1.1',
  ];
  const keys = ['hw_k', 'hw_k:k', 'hw k', '\xa0hw\xff', '"hw"', 'hw,k'];
  const blanks = ['', ' ', '\t', ' \t '];

  /** In about half of the heads everything is usual. */
  function randomHead(random: Random): string {
    const isOdd = random.chance(0.5);
    const pick = <T>(usual: readonly T[], odd: readonly T[]): T => random.pick(isOdd && random.chance(0.15) ? odd : usual);
    const lineOf = (name: string, value: string): string => {
      const written = random.pick([name, name.toLowerCase(), name.toUpperCase()]);
      return `${written}:${random.pick(blanks)}${value}${random.pick(blanks)}`;
    };
    const isGet = random.chance(0.4);
    const ofBody = [
      lineOf('Content-Type', pick(['application/json', 'Application/JSON; charset=utf-8'], ['text/plain', ''])),
      lineOf('Content-Length', pick(lengths, oddLengths)),
    ];
    const lines = [
      lineOf('Host', pick(['h', 'h:8080', ''], ['h\x01'])),
      ...(isGet && !(isOdd && random.chance(0.15)) ? [] : ofBody),
      lineOf('X-Api-Key', pick(keys, ['', 'hw\x02'])),
      ...random.shuffled(usualLines).slice(0, random.whole(0, 4)),
    ];
    if (isOdd) for (let more = random.whole(0, 2); more > 0; more--) lines.push(random.pick(oddLines));
    if (isOdd && random.chance(0.1)) lines.splice(random.whole(0, 3), 1);
    return [pick(isGet ? getStarts : starts, oddStarts), ...random.shuffled(lines), '']
      .map((line) => line + pick(['\r\n'], ['\n', '\r', '']))
      .join('');
  }

  /** A body that looks like a request: a reader that takes the body for shorter than it is finds another request in it, or a broken one. */
  const bodyOf = (bytes: number): Buffer => Buffer.alloc(bytes, 'GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n');

  async function open(): Promise<Socket> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').resume();
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  }

  it('one request with the same method, URL, key, traceparent and length of the body', async () => {
    const random = new Random(seed);
    let plain = 0;
    for (let connection = 0; connection < connections; connection++) {
      const socket = await open();
      for (let at = 0; at < heads / connections; at++) {
        const head = randomHead(random);
        const request = plainRequest(head);
        if (!request) continue;
        const { path, ...told } = request;
        const what = `SEED=${seed} ${JSON.stringify(head)}`;
        socket.write(Buffer.concat([Buffer.from(head, 'latin1'), bodyOf(request.bodyBytes)]));
        plain++;
        await until(`node:http has seen ${what}`, () => seen.length >= plain || failures.length > 0);
        expect({ what, failures, last: seen.slice(plain - 1) }).toEqual({ what, failures: [], last: [told] });
        expect(path).toBe(request.url.split('?', 1)[0]);
      }
      // What node:http took for the beginning of a further request is broken now.
      socket.end();
      await once(socket, 'close');
      expect({ seed, failures, seen: seen.length }).toEqual({ seed, failures: [], seen: plain });
    }
    // Neither nearly all nor nearly none, or the heads would say little.
    expect(plain).toBeGreaterThan(heads / 4);
    expect(plain).toBeLessThan((3 * heads) / 4);
  });
});

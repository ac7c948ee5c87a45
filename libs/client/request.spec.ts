import { once } from 'node:events';
import { createServer, type RequestListener, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from '@jest/globals';
import { request, type Server } from './request.js';

const servers: HttpServer[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serverOf(listener: RequestListener): Promise<Server> {
  const http = createServer(listener).listen(0, '127.0.0.1');
  servers.push(http);
  await once(http, 'listening');
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, apiKey: 'hw_secret' };
}

const answering = (status: number, body: string, headers: Record<string, string> = {}): Promise<Server> =>
  serverOf((_, response) => response.writeHead(status, headers).end(body));

describe('an answer', () => {
  it.each([
    [200, '{"a":1}', { a: 1 }],
    [201, '[]', []],
    [204, '', undefined],
  ])('%i %s', async (status, body, expected) => {
    expect(await request(await answering(status, body), '/a')).toEqual(expected);
  });

  it('is to what was asked, with the key in a header', async () => {
    const server = await serverOf((asked, response) => {
      const { method, url, headers } = asked;
      void text(asked).then((body) => response.end(JSON.stringify([method, url, headers['x-api-key'], headers['content-type'], body])));
    });
    expect(await request(server, '/a?b=1', { method: 'POST', body: '{}' })).toEqual([
      'POST',
      '/a?b=1',
      'hw_secret',
      'application/json',
      '{}',
    ]);
  });

  const problem = {
    detail: 'Mend it.',
    code: 'invalid_points',
    request_id: 'r-1',
    errors: [{ pointer: '/points/0', code: 'c', detail: 'd' }],
  };
  it.each([
    [
      'a problem',
      400,
      problem,
      {},
      { code: 'invalid_points', requestId: 'r-1', errors: problem.errors },
      'answered 400: Mend it. (request r-1)\n  /points/0: d',
    ],
    ['of an older server', 400, { error: 'Old.' }, {}, { code: 'not_headwater', errors: [] }, 'The server answered 400: Old.'],
    ['with a pause', 429, {}, { 'retry-after': '7' }, { retryAfterMs: 7000 }, 'It did not say why'],
    ['with a pause that is over', 503, {}, { 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, { retryAfterMs: 0 }, 'answered 503'],
    ['with a pause that is none', 503, {}, { 'retry-after': 'soon' }, { retryAfterMs: undefined }, 'answered 503'],
    ['of a proxy', 502, '<html>', {}, { code: 'not_headwater' }, 'answered 502: It did not say why'],
    ['elsewhere', 308, '', { location: '/b' }, { code: 'not_headwater' }, 'redirects to /b: use that address.'],
    ['of a page', 200, '<html>', {}, { code: 'not_headwater' }, 'does not answer in JSON'],
  ])('%s: %i is an error', async (_, status, body, headers, expected, sentence) => {
    const server = await answering(status, typeof body === 'string' ? body : JSON.stringify(body), headers);
    await expect(request(server, '/a')).rejects.toMatchObject({ status, ...expected, message: expect.stringContaining(sentence) });
  });
});

describe('no answer', () => {
  it('where nobody listens', async () => {
    const server = await answering(200, '');
    await once(servers.pop()!.close(), 'close');
    await expect(request(server, '/a')).rejects.toMatchObject({
      code: 'no_answer',
      status: undefined,
      message: expect.stringContaining('(ECONNREFUSED)'),
    });
  });

  it('in time', async () => {
    const server = await serverOf(() => undefined);
    await expect(request(server, '/a', { timeoutMs: 20 })).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('nothing for 0.02 s'),
    });
  });

  it('in time, after a beginning', async () => {
    const server = await serverOf((_, response) => void response.write('{'));
    await expect(request(server, '/a', { timeoutMs: 100 })).rejects.toMatchObject({ code: 'timeout' });
  });

  it('after a beginning, for the connection broke', async () => {
    const server = await serverOf((_, response) => response.write('{', () => response.destroy()));
    await expect(request(server, '/a')).rejects.toMatchObject({ code: 'no_answer' });
  });
});

describe('the signal', () => {
  const reason = new Error('enough');

  it('ends a request with its reason, before and at any place', async () => {
    await expect(request(await answering(200, '{}'), '/a', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controllers = [new AbortController(), new AbortController()];
    const silent = await serverOf((asked, response) => {
      if (asked.url === '/begun') response.write('{');
      controllers[asked.url === '/begun' ? 0 : 1]!.abort(reason);
    });
    await expect(request(silent, '/begun', { signal: controllers[0]!.signal })).rejects.toBe(reason);
    await expect(request(silent, '/not', { signal: controllers[1]!.signal })).rejects.toBe(reason);
  });
});

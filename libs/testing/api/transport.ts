import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rawExchange, rawRequest, sendThenRead, type RawAnswer } from '../http/raw.js';
import { problem, type Section } from './stage.js';

const json = 'content-type: application/json';

export const transport: Section = (stage) => {
  const key = (): string => `x-api-key: ${stage().own.key}`;
  const raw = (text: string, signal?: AbortSignal): Promise<RawAnswer> =>
    rawExchange(stage().urls.ingest, (socket) => socket.write(text), signal);

  // Begun before all other rows and looked at when it has ended.
  const done = new AbortController();
  let slow: Promise<RawAnswer[]>;
  beforeAll(() => {
    const requests = [
      rawRequest('POST /ingest HTTP/1.1', ['host: a', json, key(), 'content-length: 100'], '{"points":'),
      rawRequest('POST /ingest HTTP/1.1', ['host: a', json, key(), 'transfer-encoding: chunked'], '5\r\n{"poi\r\n'),
      'POST /ingest HTTP/1.1\r\nhost: a\r\nx-slow: ',
    ];
    slow = Promise.all(requests.map((text) => raw(text, done.signal)));
  });
  afterAll(() => done.abort());

  describe('a body slower than 30 s is 503 and ends the connection', () => {
    it('with a length, in chunks, and in its headers', async () => {
      for (const answer of await slow) {
        problem(answer, 503, 'slow_body');
        expect([answer.headers['connection'], Number(answer.headers['retry-after'])]).toEqual(['close', expect.any(Number)]);
        expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      }
    });
  });

  describe('a request that has two readings is 400 and ends the connection', () => {
    const chunked = 'transfer-encoding: chunked';
    const rows: readonly (readonly [what: string, headers: readonly string[], body: string])[] = [
      ['Transfer-Encoding and Content-Length', [chunked, 'content-length: 13'], 'd\r\n{"points":[]}\r\n0\r\n\r\n'],
      ['two lengths', ['content-length: 13', 'content-length: 14'], '{"points":[]}'],
      ['a negative length', ['content-length: -1'], ''],
      ['a length that is no number', ['content-length: 1e1'], '{"points":[]}'],
      ['a bad chunk size', [chunked], 'zz\r\n{"points":[]}\r\n0\r\n\r\n'],
      ['a chunk longer than its size', [chunked], '2\r\n{"points":[]}\r\n0\r\n\r\n'],
      ['an unknown transfer encoding', ['transfer-encoding: chunked, identity'], '0\r\n\r\n'],
      ['a folded header', ['x-a: 1\r\n folded'], ''],
      ['a space before the colon', ['x-a : 1'], ''],
      ['a NUL in a header', ['x-a: a\u0000b'], ''],
    ];
    it.each(rows)('%s', async (_, headers, body) => {
      const answer = await raw(rawRequest('POST /ingest HTTP/1.1', ['host: a', json, key(), ...headers], body));
      problem(answer, 400, 'invalid_request');
      expect(answer.headers['connection']).toBe('close');
      expect(answer.all.match(/HTTP\/1\.1 \d/g)).toHaveLength(1);
    });

    it.each([
      ['what is not HTTP', '\u0016\u0003\u0001 hello\r\n\r\n'],
      ['no host', 'GET /v1/sources HTTP/1.1\r\nconnection: close\r\n\r\n'],
      ['two hosts', 'GET /v1/sources HTTP/1.1\r\nhost: a\r\nhost: a\r\nconnection: close\r\n\r\n'],
      ['raw UTF-8 in the URL', 'GET /v1/sources/é HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'],
      ['a method in lower case', 'get /v1/sources HTTP/1.1\r\nhost: a\r\n\r\n'],
    ])('%s', async (_, text) => {
      problem(await raw(text), 400, 'invalid_request');
    });
  });

  describe('a refusal before the body was read reaches a client that sends all of it before it reads', () => {
    it.each([
      ['a body of 5 MiB and a byte', 413],
      ['no key', 401],
    ])('%s is %i, and the connection ends as asked', async (_, status) => {
      const body = Buffer.alloc(5 * 1024 * 1024 + 1, ' ');
      const head = rawRequest('POST /ingest HTTP/1.1', [
        'host: a',
        json,
        status === 401 ? 'x-none: 1' : key(),
        'connection: close',
        `content-length: ${body.length}`,
      ]);
      for (let time = 0; time < 3; time++) {
        const answer = await sendThenRead(stage().urls.ingest, [head, body]);
        problem(answer, status);
        expect(answer.headers['connection']).toBe('close');
      }
    });
  });

  describe('headers and URLs have bounds', () => {
    it('10,000 headers are 431', async () => {
      const many = Array.from({ length: 10_000 }, (_, n) => `x-${n}: ${n}`);
      problem(await raw(rawRequest('GET /v1/sources HTTP/1.1', ['host: a', key(), ...many])), 431, 'headers_too_large');
    });

    it('a header of 17 KB is 431, in its name too', async () => {
      problem(
        await raw(rawRequest('GET /v1/sources HTTP/1.1', ['host: a', key(), `x-a: ${'x'.repeat(17 * 1024)}`])),
        431,
        'headers_too_large',
      );
      problem(
        await raw(rawRequest('GET /v1/sources HTTP/1.1', ['host: a', key(), `${'x'.repeat(17 * 1024)}: a`])),
        431,
        'headers_too_large',
      );
    });

    it('a URL of 20 KB is 414', async () => {
      problem(await raw(rawRequest(`GET /v1/sources?${'x'.repeat(20 * 1024)} HTTP/1.1`, ['host: a', key()])), 414, 'uri_too_long');
    });
  });

  describe('a body that is cut off is never stored', () => {
    it('less than its length', async () => {
      const id = stage().id('cut-off');
      const body = JSON.stringify({ source_id: id, points: [{ metric: 'm', value: 1 }] });
      await rawExchange(stage().urls.ingest, (socket) => {
        socket.write(rawRequest('POST /ingest HTTP/1.1', ['host: a', json, key(), `content-length: ${body.length + 10}`], body), () =>
          socket.end(),
        );
      }).catch(() => undefined);
      await stage().caughtUp(id);
      await stage().reads(id, '/metrics', (names) => expect(names).toEqual(['mark']));
    });

    it('a body in chunks is as good as any', async () => {
      const id = stage().id('chunks');
      const body = JSON.stringify({ source_id: id, points: [{ metric: 'm', value: 1 }] });
      const halves = [body.slice(0, 20), body.slice(20)].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`);
      const answer = await raw(
        rawRequest(
          'POST /ingest HTTP/1.1',
          ['host: a', json, key(), 'transfer-encoding: chunked', 'connection: close'],
          `${halves.join('')}0\r\n\r\n`,
        ),
      );
      expect([answer.status, JSON.parse(answer.text.slice(answer.text.indexOf('{'), answer.text.lastIndexOf('}') + 1))]).toEqual([
        200,
        { success: true, count: 1, source_id: id },
      ]);
    });
  });

  describe('too much at once is refused, never queued without end', () => {
    it('of 300 heavy reads at once each is answered: 200, or 429 or 503 with Retry-After; ingest goes on', async () => {
      const id = stage().id('heavy');
      const points = Array.from({ length: 2000 }, (_, n) => ({ metric: 'm', value: n, timestamp: Date.UTC(2020, 0, 1) + n * 60_000 }));
      await stage().own.accepted({ source_id: id, points });
      const path = `/v1/sources/${id}/metrics/query?start=2020-01-01T00:00:00Z&end=2020-02-01T00:00:00Z&interval=raw`;
      const reads = Array.from({ length: 300 }, () => stage().own.ask({ path }));
      const receipts = await Promise.all(
        Array.from({ length: 5 }, () => stage().own.ingest({ source_id: id, points: [{ metric: 'n', value: 1 }] })),
      );
      expect(receipts.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      for (const answer of await Promise.all(reads)) {
        if (answer.status === 200) continue;
        problem(answer, answer.status === 429 ? 429 : 503);
        expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      }
    });
  });
};

import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '#testing';
import { ConfluentRegistry } from './confluent-registry.js';

describe('a registry', () => {
  let api: Server;
  let registry: ConfluentRegistry;
  let asked: string[];
  let answer: RequestListener;
  beforeEach(async () => {
    asked = [];
    api = createServer((request, response) => {
      asked.push(request.url!.split('/').at(-1)!);
      setImmediate(() => answer(request, response));
    }).listen(0, '127.0.0.1');
    await once(api, 'listening');
    registry = new ConfluentRegistry({ url: `http://127.0.0.1:${(api.address() as AddressInfo).port}` });
  });
  afterEach(() => {
    api.closeAllConnections();
    api.close();
  });

  const has7: RequestListener = (request, response) => {
    const isThere = request.url!.endsWith('/7');
    response.writeHead(isThere ? 200 : 404).end(isThere ? '{"schema":"\\"string\\""}' : '{"error_code":40403,"message":"no"}');
  };
  /** What each of many ids has come to. */
  const askForMany = async (): Promise<unknown[]> => {
    const asking = await Promise.allSettled(Array.from({ length: 50 }, (_, n) => registry.schema(100 + n)));
    return [...new Set(asking.map((one) => (one.status === 'rejected' ? (one.reason as { code: string }).code : one.value)))];
  };

  it('is asked once at a time for an id, and not again for a while when it has none', async () => {
    answer = has7;
    const ids = [5, 5, 5, 7, 7];
    const schemas = [undefined, undefined, undefined, '"string"', '"string"'];
    expect(await Promise.all(ids.map((id) => registry.schema(id)))).toEqual(schemas);
    expect([await registry.schema(5), await registry.schema(7)]).toEqual([undefined, '"string"']);
    expect(asked.toSorted()).toEqual(['5', '7']);
  });

  it('that does not answer is asked one thing a second, whoever asks, until it does', async () => {
    const unavailable = ['log_unavailable'];
    answer = (_, response) => void response.writeHead(503).end('{}');
    await registry.schema(1).catch(() => undefined);
    expect(await askForMany()).toEqual(unavailable);
    expect(asked.length).toBeLessThan(5);

    const held: ServerResponse[] = [];
    answer = (_, response) => void held.push(response);
    await until('one is let through', () => {
      registry.schema(2).catch(() => undefined);
      return held.length > 0;
    });
    expect([await askForMany(), held.length]).toEqual([unavailable, 1]);

    answer = has7;
    held[0]!.writeHead(503).end('{}');
    await until('it answers', () => registry.schema(7).then(Boolean, () => false));
    expect(await askForMany()).toEqual([undefined]);
  });
});

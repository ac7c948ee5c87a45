import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Authority, until } from '#testing';
import { ConfluentRegistry } from './confluent-registry.js';
import { RegistryApi } from './registry-api.js';

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

describe('a registry behind a login', () => {
  const authority = new Authority();
  const url = async (server: Server, protocol: string): Promise<string> => {
    server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}/api/`;
  };
  const guarded: RequestListener = ({ url: path, headers }, response) => {
    const isFine = path === '/api/schemas/ids/7' && headers.authorization === 'Bearer right';
    response.writeHead(isFine ? 200 : 401).end(isFine ? '{"schema":"\\"string\\""}' : '<html>who are you?</html>');
  };

  it('is asked over TLS with a token, and a refusal says what to check; it may be over after a while', async () => {
    const server = createTlsServer(authority.certify(), guarded);
    const address = { url: await url(server, 'https'), tls: { ca: authority.cert } };
    expect(await new RegistryApi({ ...address, token: 'right' }).schema(7)).toBe('"string"');
    const refused = await new RegistryApi({ ...address, token: 'wrong' }).schema(7).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: 'log_unavailable',
      message: expect.stringMatching(
        /^The schema registry refuses us \(401\): check HEADWATER_REGISTRY_USERNAME and .*HEADWATER_REGISTRY_TOKEN\.$/,
      ),
    });
    const distrusted = await new RegistryApi({ url: address.url, token: 'right' }).schema(7).catch((error: Error) => error.message);
    expect(distrusted).toMatch(
      /^The schema registry does not answer: no trusted authority has signed the certificate of .*, so check the setting/,
    );
    server.close();
  });

  it('is told a name and its password', async () => {
    let said: string | undefined;
    const server = createServer(({ headers }, response) => {
      said = headers.authorization;
      response.end('{"schema":"x"}');
    });
    await new RegistryApi({ url: await url(server, 'http'), username: 'u', password: 'p' }).schema(1);
    server.close();
    expect(said).toBe(`Basic ${Buffer.from('u:p').toString('base64')}`);
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Receiver, type Behaviour } from '#testing';
import { OpenIdProvider } from './open-id-provider.js';
import { Sealer } from './sealed.js';

const callback = 'https://telemetry.example.com/sign-in/openid/callback';

describe('a provider', () => {
  let server: Receiver;
  let nowMs: number;
  beforeEach(async () => {
    nowMs = 1;
    server = await Receiver.open();
  });
  afterEach(() => server.close());

  const open = (): OpenIdProvider => new OpenIdProvider({ issuer: server.url, clientId: 'c', clientSecret: 's' }, () => nowMs, 3);
  const saying =
    (more: object = {}): Behaviour =>
    (_, response) => {
      const said = {
        issuer: server.url,
        authorization_endpoint: `${server.url}/authorize`,
        token_endpoint: `${server.url}/token`,
        ...more,
      };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(said));
    };

  it.each<[string, () => Behaviour]>([
    ['does not answer', () => () => undefined],
    ['says half of it', () => (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).write('{"issuer":')],
    ['says too much', () => saying({ more: 'x'.repeat(300_000) })],
    ['says it is another', () => saying({ issuer: 'https://other.example' })],
    ['says nothing of itself', () => (_, response) => void response.writeHead(404).end()],
    ['leads elsewhere', () => (_, response) => void response.writeHead(302, { location: `${server.url}/there` }).end()],
    ['speaks no JSON', () => (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{')],
  ])('that %s cannot be asked, and is asked again next time', async (_, behaviour) => {
    const provider = open();
    server.behaviour = behaviour();
    await expect(provider.begin(callback, '/')).rejects.toMatchObject({ code: 'provider_unavailable' });
    server.behaviour = saying();
    expect((await provider.begin(callback, '/')).to).toContain(`${server.url}/authorize?`);
    expect(server.received.map(({ path }) => path)).toEqual(Array(2).fill('/.well-known/openid-configuration'));
  });

  it('is asked what it is once an hour, whoever waits for it', async () => {
    const provider = open();
    server.behaviour = saying();
    await Promise.all(Array.from({ length: 10 }, () => provider.begin(callback, '/')));
    nowMs += 3_599_999;
    await provider.begin(callback, '/');
    expect(server.received).toHaveLength(1);
    nowMs += 1;
    await provider.begin(callback, '/');
    expect(server.received).toHaveLength(2);
  });

  it('is asked about twenty people at the same time and no more', async () => {
    const provider = open();
    server.behaviour = saying();
    const { to, note } = await provider.begin(callback, '/');
    const answer = new URL(`${callback}?code=a&state=${new URL(to).searchParams.get('state')}`);
    server.behaviour = () => undefined;
    const outcomes = await Promise.allSettled(Array.from({ length: 21 }, () => provider.finish(answer, note)));
    const codes = outcomes.map((one) => (one as { reason: { code: string } }).reason.code);
    expect(codes).toEqual([...Array<string>(20).fill('provider_unavailable'), 'overloaded']);
  });

  it.each([
    ['nothing', undefined],
    ['no note', 'nonsense'],
    ['a short one', 'AAAA'],
    [
      'the note of another server',
      new Sealer('other', 'headwater: somebody signs in by the OpenID provider').seal({ untilMs: 9, state: 'a' }),
    ],
    ['a note for something else', new Sealer('s', 'else').seal({ untilMs: 9, state: 'a' })],
  ])('is not asked where a browser brings %s', async (_, note) => {
    await expect(open().finish(new URL(`${callback}?code=a&state=a`), note)).rejects.toMatchObject({ code: 'provider_refused' });
    expect(server.received).toEqual([]);
  });
});

describe('what is sealed', () => {
  const sealer = new Sealer('s', 'p');
  it('is opened with the same secret, and not when a bit of it has changed', () => {
    const sealed = Buffer.from(sealer.seal({ a: 'ä' }), 'base64url');
    expect(new Sealer('s', 'p').open(sealed.toString('base64url'))).toEqual({ a: 'ä' });
    expect(sealer.seal({ a: 'ä' })).not.toBe(sealer.seal({ a: 'ä' }));
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      expect(sealer.open(changed.toString('base64url'))).toBeUndefined();
    }
  });
});

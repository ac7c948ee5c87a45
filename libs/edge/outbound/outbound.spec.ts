import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import type { Answer } from '#model';
import { Receiver, SmtpServer } from '#testing';
import { Outbound, type OutboundOptions } from './outbound.js';

const secret = `whsec_${Buffer.from('a secret of 24 bytes at least').toString('base64')}`;
const options: OutboundOptions = { networks: [], server: '', from: '', clock: Date.now };

describe('a request to a target', () => {
  /** Where alerts may go, and where they may not, on one port. */
  let allowed: Receiver;
  let inside: Receiver;
  beforeEach(async () => {
    [allowed, inside] = await Receiver.openPair('127.0.0.2', '127.0.0.1');
  });
  afterEach(async () => {
    await allowed.close();
    await inside.close();
  });

  const of = (more: Partial<OutboundOptions> = {}): Outbound => new Outbound({ ...options, networks: ['127.0.0.2'], ...more });
  const post = (url: string, more?: Partial<OutboundOptions>, secrets: readonly string[] = [secret]): Promise<Answer> =>
    of(more).send({ id: 'd1', http: { url, body: '{"a":1}', secrets } });
  /** A name server that says another address each time. */
  const saying = (...addresses: readonly string[]): Pick<OutboundOptions, 'resolve'> => {
    let at = 0;
    return { resolve: () => Promise.resolve([{ address: addresses[Math.min(at++, addresses.length - 1)]!, family: 4 }]) };
  };

  it('is delivered, as JSON and signed', async () => {
    expect(await post(`${allowed.url}/hook?a=b`)).toMatchObject({ verdict: 'taken', status: 200, error: '' });
    const [{ path, headers, body }] = allowed.received as [Receiver['received'][0]];
    expect([path, headers['content-type'], headers['content-length']]).toEqual(['/hook?a=b', 'application/json', '7']);
    expect(headers['webhook-id']).toBe('d1');
    expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual({ a: 1 });
    expect(() => new Webhook(secret).verify('{"a":2}', headers as Record<string, string>)).toThrow('signature');
  });

  it('that is answered with another protocol has failed', async () => {
    allowed.behaviour = (_, response) => void response.writeHead(101, { connection: 'upgrade', upgrade: 'websocket' }).end();
    expect(await post(allowed.url)).toMatchObject({ verdict: 'later', status: null, error: expect.stringContaining('without an answer') });
  });

  it('has a signature of each secret', async () => {
    const other = `whsec_${Buffer.from('another one of 24 bytes').toString('base64')}`;
    await post(allowed.url, {}, [other, secret]);
    const [{ headers, body }] = allowed.received as [Receiver['received'][0]];
    expect(String(headers['webhook-signature'])).toMatch(/^v1,[\w+/=]{44} v1,[\w+/=]{44}$/);
    for (const one of [other, secret]) expect(new Webhook(one).verify(body, headers as Record<string, string>)).toEqual({ a: 1 });
  });

  it('has no signature where there is no secret', async () => {
    await of().send({ id: 'd1', http: { url: allowed.url, body: '{}', secrets: [] } });
    expect(Object.keys(allowed.received[0]!.headers).filter((name) => name.startsWith('webhook'))).toEqual([]);
  });

  it.each([
    ['an address', (port: number) => `http://127.0.0.1:${port}/`],
    ['a name of this machine', (port: number) => `http://localhost:${port}/`],
    ['an address in hexadecimal', (port: number) => `http://0x7f.1:${port}/`],
    ['an address as one number', (port: number) => `http://2130706433:${port}/`],
    ['an address in octal', (port: number) => `http://0177.0.0.1:${port}/`],
    ['an address of no length', (port: number) => `http://0:${port}/`],
    ['IPv6', (port: number) => `http://[::1]:${port}/`],
    ['IPv4 within IPv6', (port: number) => `http://[::ffff:127.0.0.1]:${port}/`],
    ['a dot at the end of the name', (port: number) => `http://localhost.:${port}/`],
    ['full-width digits', (port: number) => `http://１２７.0.0.1:${port}/`],
  ])('to the inside is refused: %s', async (_, url) => {
    const { verdict, status, error } = await post(url(inside.port));
    // Systems disagree about a dot at the end: some know no such name.
    expect([verdict, status]).toEqual([error.includes('ENOTFOUND') ? 'later' : 'blocked', null]);
    expect(error).toMatch(/not on the public|ENOTFOUND/);
    expect(inside.received).toEqual([]);
  });

  it('goes only to an address that was checked, whatever the name server says next', async () => {
    const url = `http://rebinding.example:${allowed.port}/`;
    expect(await post(url, saying('127.0.0.2', '127.0.0.1'))).toMatchObject({ verdict: 'taken' });
    const outbound = of(saying('127.0.0.2', '127.0.0.1'));
    const send = (): Promise<Answer> => outbound.send({ id: 'd1', http: { url, body: '{}', secrets: [secret] } });
    expect((await send()).verdict).toBe('taken');
    expect(await send()).toMatchObject({ verdict: 'blocked', error: expect.stringContaining('not on the public internet') });
    expect([allowed.received.length, inside.received.length]).toEqual([2, 0]);
  });

  it('goes to the allowed ones among the addresses of a name', async () => {
    const both = [
      { address: '127.0.0.1', family: 4 },
      { address: '127.0.0.2', family: 4 },
    ];
    expect(await post(`http://two.example:${allowed.port}/`, { resolve: () => Promise.resolve(both) })).toMatchObject({
      verdict: 'taken',
    });
    expect([allowed.received.length, inside.received.length]).toEqual([1, 0]);
  });

  describe('that is redirected', () => {
    const redirect = (status: number, location: string): void => {
      allowed.behaviour = ({ path }, response) => void (path === '/' ? response.writeHead(status, { location }).end() : response.end());
    };

    it.each([307, 308])('by %i within the host is posted there', async (status) => {
      redirect(status, '/there');
      expect(await post(allowed.url)).toMatchObject({ verdict: 'taken', status: 200 });
      expect(allowed.received.map(({ path, body }) => [path, body])).toEqual([
        ['/', '{"a":1}'],
        ['/there', '{"a":1}'],
      ]);
    });

    it.each([301, 302, 303])('by %i, which would lose the body, is not delivered', async (status) => {
      redirect(status, '/there');
      expect(await post(allowed.url)).toMatchObject({ verdict: 'misplaced', status });
      expect(allowed.received).toHaveLength(1);
    });

    it.each([
      ['another host', () => inside.url, 'misplaced', 'another host'],
      ['a name that is now inside', () => `http://rebinding.example:${inside.port}/there`, 'blocked', 'not on the public internet'],
    ] as const)('to %s is not delivered', async (_, location, verdict, error) => {
      const isName = location().includes('rebinding');
      redirect(307, location());
      const url = isName ? `http://rebinding.example:${allowed.port}/` : allowed.url;
      const answer = await post(url, isName ? saying('127.0.0.2', '127.0.0.1') : {});
      expect(answer).toMatchObject({ verdict, error: expect.stringContaining(error) });
      expect(inside.received).toEqual([]);
    });

    it('for ever is not followed for ever', async () => {
      redirect(307, '/');
      expect(await post(allowed.url)).toMatchObject({ verdict: 'misplaced', status: 307, error: 'It redirects more than 3 times.' });
      expect(allowed.received).toHaveLength(4);
    });
  });

  it.each([
    ['no answer', 'There was no answer within 0.3 seconds.', () => undefined],
    ['half a head', 'There was no answer within 0.3 seconds.', (socket: NodeJS.WritableStream) => void socket.write('HTTP/1.1 2')],
    [
      'something else than HTTP',
      'The target cannot be reached: HPE_INVALID_CONSTANT.',
      (socket: NodeJS.WritableStream) => void socket.write('SSH-2.0\r\n\r\n'),
    ],
    [
      'endless headers',
      'The target cannot be reached: HPE_HEADER_OVERFLOW.',
      (socket: NodeJS.WritableStream) => void socket.write(`HTTP/1.1 200 OK\r\na: ${'b'.repeat(100_000)}`),
    ],
  ])('with %s fails', async (_, error, answer) => {
    allowed.behaviour = (__, { socket }) => answer(socket!);
    expect(await post(allowed.url, { maxAttemptMs: 300 })).toMatchObject({ verdict: 'later', status: null, error });
  });

  it('with a body that never ends is over when enough of it is read', async () => {
    allowed.behaviour = (_, response) => {
      response.writeHead(500);
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(1000)));
      };
      response.on('drain', more);
      more();
    };
    const answer = await post(allowed.url);
    expect(answer).toMatchObject({ verdict: 'later', status: 500 });
    expect(answer.error.length).toBeLessThan(5000);
  });

  it('with a body that does not come is what its status says', async () => {
    allowed.behaviour = (_, response) => response.writeHead(202, { 'content-length': 10 }).flushHeaders();
    expect(await post(allowed.url, { maxAttemptMs: 300 })).toMatchObject({ verdict: 'taken', status: 202 });
  });

  it.each([
    ['7', 7000],
    [new Date(1_700_000_060_000).toUTCString(), 60_000],
    ['soon', 0],
    ['-5', 0],
  ])('that is to come later, at %s, says so', async (retryAfter, expected) => {
    allowed.behaviour = (_, response) => void response.writeHead(429, { 'retry-after': retryAfter }).end('too\nmuch');
    const answer = await post(allowed.url, { clock: () => 1_700_000_000_000 });
    expect([answer.retryAfterMs, answer.error]).toEqual([expected, 'The target answered 429: too much']);
  });

  it('to a port where nobody listens fails', async () => {
    const { url } = allowed;
    await allowed.close();
    expect(await post(url)).toMatchObject({ verdict: 'later', error: 'The target cannot be reached: ECONNREFUSED.' });
    allowed = await Receiver.open('127.0.0.2');
  });

  it('is refused before it is wanted where its address is known', async () => {
    const why = [inside.url, allowed.url, 'https://8.8.8.8', 'https://nobody.invalid'].map((url) => of().whyNot(url));
    expect((await Promise.all(why)).map((text) => text !== undefined)).toEqual([true, false, false, false]);
  });
});

describe('a mail', () => {
  let server: SmtpServer;
  beforeEach(async () => {
    server = await SmtpServer.open();
  });
  afterEach(() => server.close());

  const mail = { to: 'ops@example.com', subject: 'Critical: Wärme', text: 'It is hot.\n.\nSee.\n' };
  const send = (more: Partial<OutboundOptions> = {}, its = mail): Promise<Answer> =>
    new Outbound({ ...options, server: server.url, from: 'hw@example.org', ...more }).send({ id: 'd1', mail: its });

  it('comes with its text, under the id of its delivery', async () => {
    expect(await send()).toMatchObject({ verdict: 'taken', status: 250 });
    const [{ from, to, data }] = server.received as [SmtpServer['received'][0]];
    expect([from, to]).toEqual(['hw@example.org', ['ops@example.com']]);
    expect(data).toContain('Message-ID: <d1@example.org>');
    expect(data).toMatch(/Subject: =\?UTF-8\?/);
    expect(data).toContain('Auto-Submitted: auto-generated');
    expect(data).toContain('It is hot.\n..\nSee.');
  });

  it.each([
    ['subject', { subject: 'a\r\nBcc: all@example.com' }],
    ['address', { to: 'a@example.com\r\nBcc: all@example.com' }],
    ['list of addresses', { to: 'a@example.com, b@example.com' }],
  ])('has no other header or receiver for its %s', async (_, its) => {
    const { verdict } = await send({}, { ...mail, ...its });
    expect(server.received).toHaveLength(verdict === 'taken' ? 1 : 0);
    for (const { data, to } of server.received) {
      expect(data.split('\n\n')[0]).not.toMatch(/^Bcc/im);
      expect(to).toHaveLength(1);
    }
  });

  it('that the server refuses is not delivered', async () => {
    server.answer = '552 too much';
    expect(await send()).toMatchObject({ verdict: 'refused', status: 552, error: expect.stringContaining('too much') });
  });

  it('that the server cannot take now is for later', async () => {
    server.answer = '452 no room';
    expect(await send()).toMatchObject({ verdict: 'later', status: 452 });
  });

  it('that never got so far, because the server does not let us in, is for later', async () => {
    server.greeting = '554 not you';
    expect(await send()).toMatchObject({ verdict: 'later', status: 554 });
  });

  it('goes nowhere without a server', async () => {
    expect(await send({ server: '' })).toMatchObject({ verdict: 'later', error: expect.stringContaining('HEADWATER_SMTP_URL') });
  });
});

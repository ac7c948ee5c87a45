import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLOCK, createHttpApp, deciders, Outbound } from '#edge';
import { RECORD_LOG, Runner, VIEWS } from '#log';
import { mailedResetMs, type Account } from '#model';
import { openStorage, type Storage } from '#sqlite';
import { eventually, makeAccount, noOutbound, NoStoresModule, send, SmtpServer, type Answer } from '#testing';
import { accounts, decisionsGroup } from '#topics';
import { ControlModule } from '../../control.module.js';
import { maxAskedFrom, maxMailsTo } from '../../people/forgotten-passwords.js';

const password = 'correct horse battery';
let nowMs = 1_700_000_000_000;
let folder: string;
let storage: Storage;
let runner: Runner;
let smtp: SmtpServer;
let app: NestFastifyApplication;
let silent: NestFastifyApplication;

async function openApp(outbound: Outbound): Promise<NestFastifyApplication> {
  const values: [symbol | typeof Outbound, unknown][] = [
    [RECORD_LOG, storage.log],
    [VIEWS, storage.views],
    [CLOCK, () => nowMs],
    [Outbound, outbound],
  ];
  const providers = values.map(([provide, useValue]) => ({ provide, useValue }));
  const ports = { module: class Ports {}, global: true, providers, exports: providers };
  const made = await createHttpApp(
    { module: class Role {}, imports: [ports, NoStoresModule, ControlModule] },
    { publicUrl: 'https://telemetry.example.com', trustedProxies: ['127.0.0.1'] },
  );
  await made.listen(0, '127.0.0.1');
  return made;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-forgot-'));
  storage = await openStorage(folder);
  smtp = await SmtpServer.open();
  app = await openApp(new Outbound({ networks: [], server: smtp.url, from: 'hw@example.org', clock: () => nowMs }));
  silent = await openApp(noOutbound);
  const decider = deciders(storage.log, storage.views, () => nowMs).find(({ group }) => group === decisionsGroup)!;
  runner = new Runner(storage.log, decider, { checkpointMs: 1e6, report: () => {} });
  await runner.start();
});
afterAll(async () => {
  await Promise.all([app.close(), silent.close()]);
  await runner.stop();
  await storage.close();
  await smtp.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  nowMs += 24 * 3_600_000;
  smtp.received.length = 0;
});

let made = 0;
async function somebody(): Promise<Account> {
  const account = await makeAccount(storage.log, `forgetful${++made}@example.com`, password);
  await storage.views.open(accounts).until(account.accountId, Boolean, 5000);
  return account;
}
const ask = (method: string, path: string, form?: Record<string, string>, replica = app, from = '192.0.2.1'): Promise<Answer> =>
  replica.getUrl().then((url) =>
    send(url, {
      method,
      path,
      headers: { 'x-forwarded-for': from, host: 'evil.example', ...(form && { 'content-type': 'application/x-www-form-urlencoded' }) },
      body: form && new URLSearchParams(form).toString(),
    }),
  );
const forgot = (email: string, from?: string): Promise<Answer> => ask('POST', '/forgot', { email }, app, from);
const mails = (count: number): Promise<SmtpServer['received']> =>
  eventually(() => {
    expect(smtp.received).toHaveLength(count);
    return smtp.received;
  });
/** Long lines are broken on the way. */
const linkIn = ({ data }: SmtpServer['received'][0]): string =>
  /https:\/\/telemetry\.example\.com(\/reset\/[\w-]{43})/.exec(data.replaceAll('=\n', ''))![1]!;
const signIn = async (email: string, text: string): Promise<Answer> =>
  send(await app.getUrl(), {
    method: 'POST',
    path: '/api/auth/sign-in',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password: text }),
  });

describe('who has forgotten a password', () => {
  it('gets a mail with a link of the public address, which sets another one once and ends all sessions', async () => {
    const { email } = await somebody();
    const cookie = (await signIn(email, password)).headers['set-cookie']!.split(';', 1)[0]!;
    await forgot(` ${email.toUpperCase()} `);
    const [mail] = await mails(1);
    expect([mail!.to, mail!.from]).toEqual([[email], 'hw@example.org']);
    const set = (text: string): Promise<Answer> => ask('POST', linkIn(mail!), { password: text });
    const statuses = [(await set('another battery staple')).status, (await set('yet another battery')).status];
    expect(statuses).toEqual([303, 404]);
    expect([(await signIn(email, password)).status, (await signIn(email, 'another battery staple')).status]).toEqual([401, 200]);
    expect((await send(await app.getUrl(), { path: '/api/auth/session', headers: { cookie } })).status).toBe(401);
  });

  it('has an hour to use it', async () => {
    await forgot((await somebody()).email);
    const [mail] = await mails(1);
    nowMs += mailedResetMs - 1;
    expect((await ask('GET', linkIn(mail!))).status).toBe(200);
    nowMs += 1;
    expect((await ask('GET', linkIn(mail!))).status).toBe(404);
  });

  it('is answered like who has no account', async () => {
    const emails = [(await somebody()).email, 'nobody@example.com', 'no address', '<b>@example.com'];
    const answers = await Promise.all(emails.map((email) => forgot(email)));
    const [first, ...others] = answers.map(({ status, text }, at) => [
      status,
      text.replaceAll(emails[at]!.replace('<b>', '&lt;b&gt;'), 'somebody'),
    ]);
    for (const other of others) expect(other).toEqual(first);
    expect(first![0]).toBe(200);
    await mails(1);
  });

  it('gets three mails an hour, and nobody learns that there are no more', async () => {
    const [account, other] = [await somebody(), await somebody()];
    const answers = [];
    for (let at = 0; at <= maxMailsTo; at++) answers.push(await forgot(account.email, `198.51.100.${at}`));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    await forgot(other.email);
    const sent = await mails(maxMailsTo + 1);
    expect(sent.filter(({ to }) => to[0] === account.email)).toHaveLength(maxMailsTo);
  });

  it('of one address is one of twenty an hour', async () => {
    const statuses = [];
    for (let at = 0; at <= maxAskedFrom; at++) statuses.push((await forgot(`nobody${at}@example.com`)).status);
    expect(statuses).toEqual([...Array<number>(maxAskedFrom).fill(200), 429]);
    expect((await forgot('nobody@example.com', '192.0.2.2')).status).toBe(200);
    nowMs += 3_600_000;
    expect((await forgot('nobody@example.com')).status).toBe(200);
  });

  it('is told of nothing when the mail server refuses, and may ask again', async () => {
    const { email } = await somebody();
    smtp.answer = '552 no';
    expect((await forgot(email)).status).toBe(200);
    await eventually(() => expect(smtp.refused).toBe(1));
    smtp.answer = '250 kept';
    await forgot(email);
    await mails(1);
  });

  it('is sent to the operator where there is no mail server', async () => {
    for (const answer of [
      await ask('GET', '/forgot', undefined, silent),
      await ask('POST', '/forgot', { email: 'a@example.com' }, silent),
    ]) {
      expect([answer.status, answer.text.includes('headwater people reset'), answer.text.includes('<form')]).toEqual([200, true, false]);
    }
  });
});

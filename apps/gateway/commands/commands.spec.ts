import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Module, type DynamicModule } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { CLOCK, createHttpApp, Metrics, Organizations, Readiness } from '#edge';
import { entry, readLog, RECORD_LOG, VIEWS, type FollowOptions, type Following, type RecordLog } from '#log';
import type { Command, CommandState, EventBatch } from '#model';
import { openStorage, type Storage } from '#sqlite';
import { eventually, makeKey, makeOrganization, SocketClient, type Frame } from '#testing';
import { apiKeys, commands, commandStates, events } from '#topics';
import { GatewayModule } from '../gateway.module.js';
import { CommandSender } from './command-sender.js';

/** A gateway of its own on the log that all share. */
class TestGateway {
  app!: NestFastifyApplication;
  url = '';
  /** Resolves when it may read on. */
  reading = Promise.resolve();
  /** Resolves when it may write what it makes of commands. */
  writing: Promise<void> = Promise.resolve();

  async start({ log, views }: Storage): Promise<this> {
    const cut: Pick<RecordLog, 'append' | 'follow'> = {
      append: (entries) =>
        entries.some(({ topic }) => topic === commandStates) ? this.writing.then(() => log.append(entries)) : log.append(entries),
      follow: (options) => this.#follow(log, options),
    };
    const ports: [symbol, unknown][] = [
      [RECORD_LOG, cut],
      [VIEWS, views],
      [CLOCK, Date.now],
    ];
    this.app = await createHttpApp({ module: class Role {}, imports: [portsOf(ports), GatewayModule] });
    await this.app.listen(0, '127.0.0.1');
    await this.app.get(Readiness).opened();
    this.url = await this.app.getUrl();
    return this;
  }

  #follow(log: RecordLog, options: FollowOptions): Following {
    if (options.topics[0] !== commands) return log.follow(options);
    return log.follow({ ...options, take: (records) => this.reading.then(() => options.take(records)) });
  }
}

@Module({})
class Ports {}

function portsOf(values: readonly (readonly [symbol, unknown])[]): DynamicModule {
  const providers = values.map(([provide, useValue]) => ({ provide, useValue }));
  return { module: Ports, global: true, providers, exports: providers };
}

let dir: string;
let storage: Storage;
let orgId: string;
let key: string;
const gateways: TestGateway[] = [];
let [one, other]: TestGateway[] = [];
let made = 0;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'headwater-'));
  storage = await openStorage(dir);
  orgId = await makeOrganization(storage.log, true);
  key = (await makeKey(storage.log, orgId)).secret;
  for (let at = 0; at < 2; at++) gateways.push(await new TestGateway().start(storage));
  [one, other] = gateways;
});

afterAll(async () => {
  for (const { app } of gateways) await app.close();
  await storage.close();
  await rm(dir, { recursive: true });
});

interface Answered {
  readonly status: number;
  readonly queued?: boolean;
  readonly id?: string;
  readonly code?: string;
}

async function send(gateway: TestGateway, sourceId: string, command: string, apiKey = key, params = {}): Promise<Answered> {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
  const body = JSON.stringify({ command, params });
  const answer = await fetch(`${gateway.url}/v1/sources/${sourceId}/commands`, { method: 'POST', headers, body });
  return { status: answer.status, ...((await answer.json()) as object) };
}

/** A device on this gateway, once the other one knows that it is online. */
async function connect(gateway: TestGateway, sourceId: string): Promise<SocketClient> {
  const device = await SocketClient.open(gateway.url, '/ws/device');
  device.send({ type: 'device_auth', api_key: key, source_id: sourceId });
  expect(await device.json()).toMatchObject({ type: 'authenticated' });
  for (const asked of gateways) {
    await eventually(async () => expect(await send(asked, sourceId, 'hello')).toMatchObject({ queued: true }));
    report(device, await device.json(), 'result');
  }
  return device;
}

const report = (device: SocketClient, { id, command }: Frame, event: string): void =>
  device.send({ type: 'command_result', id, command, event, ...(event === 'result' && { result: 1 }) });

/** Outcomes in the log of commands with this name. */
async function outcomes(command: string): Promise<unknown[]> {
  const found: unknown[] = [];
  await readLog(storage.log, {
    topics: [events],
    from: 'beginning',
    take: (records) => {
      for (const { value } of records) found.push(...(value as EventBatch).events.map((event) => JSON.parse(event.value) as unknown));
    },
    unreadable: () => undefined,
  });
  return found.filter((outcome) => (outcome as Frame)['command'] === command);
}

const newSource = (): string => `s${++made}`;

it('hands a command that was sent through another gateway over once, and keeps its outcome once', async () => {
  const device = await connect(one!, newSource());
  const sent = await send(other!, `s${made}`, 'once');
  expect(sent).toMatchObject({ status: 200, queued: true });
  const frame = await device.json();
  expect(frame).toMatchObject({ id: sent.id, command: 'once' });
  await device.close();
  // Its answer comes through the other gateway, twice, and with another word at the end.
  const again = await SocketClient.open(other!.url, '/ws/device');
  again.send({ type: 'device_auth', api_key: key, source_id: `s${made}` });
  await again.json();
  for (const event of ['ack', 'result', 'result', 'error']) report(again, frame, event);
  await eventually(async () => expect(await outcomes('once')).toHaveLength(2));
  await again.close();
  expect(await outcomes('once')).toEqual([
    { id: sent.id, command: 'once', event: 'ack' },
    { id: sent.id, command: 'once', event: 'result', result: 1 },
  ]);
});

it('keeps what a device says through another gateway, before that one has heard of the command', async () => {
  const device = await connect(one!, newSource());
  const held = Promise.withResolvers<void>();
  one!.writing = held.promise;
  const sent = send(other!, `s${made}`, 'quick');
  const frame = await device.json();
  await device.close();
  const again = await SocketClient.open(other!.url, '/ws/device');
  again.send({ type: 'device_auth', api_key: key, source_id: `s${made}` });
  await again.json();
  report(again, frame, 'result');
  // The gateway has the report before the state of the command is written, and waits a quarter of a second for that state.
  held.resolve();
  await eventually(async () => expect(await outcomes('quick')).toHaveLength(1));
  expect(await sent).toMatchObject({ queued: true });
  await again.close();
});

it('hands nothing over a second time when its record comes again, and nothing that another producer got wrong', async () => {
  const device = await connect(one!, newSource());
  const copies: unknown[] = [];
  const following = storage.log.follow({
    topics: [commands],
    from: 'end',
    take: (records) => void copies.push(...records.map(({ value }) => value)),
    unreadable: () => undefined,
    stopped: () => undefined,
  });
  await following.caughtUp();
  const { id } = await send(other!, `s${made}`, 'repeated');
  await eventually(() => expect(copies).toHaveLength(1));
  await following.stop();
  const again = copies[0] as Command;
  // What another producer has written stops nothing.
  const foreign = ['{', '[]'].map((params, at) => ({ ...again, commandId: `foreign${at}`, params }));
  await storage.log.append([again, again, ...foreign].map((command) => entry(commands, command)));
  const last = await send(other!, `s${made}`, 'last');
  expect([(await device.json())['id'], (await device.json())['id'], device.left]).toEqual([id, last.id, []]);
  await device.close();
});

it('tells nobody that a command was queued when the gateway dies between the device and the log', async () => {
  const device = await connect(one!, newSource());
  one!.writing = new Promise<never>(() => undefined);
  const answer = await send(other!, `s${made}`, 'fatal');
  one!.writing = Promise.resolve();
  expect(answer).toMatchObject({ status: 502, code: 'gateway_unreachable' });
  expect([(await device.json())['command'], device.left]).toEqual(['fatal', []]);
  await device.close();
}, 20_000);

it('hands nothing over that it reads late, and says so', async () => {
  const device = await connect(one!, newSource());
  const held = Promise.withResolvers<void>();
  one!.reading = held.promise;
  const answered = send(other!, `s${made}`, 'late');
  setTimeout(held.resolve, 3_500);
  expect(await answered).toEqual({ status: 200, queued: false });
  expect((await send(other!, `s${made}`, 'soon')).queued).toBe(true);
  expect([(await device.json())['command'], device.left]).toEqual(['soon', []]);
  await device.close();
}, 20_000);

it.each([
  ['requests_per_s', 1, {}, 11],
  ['key_requests_per_s', 2, {}, 21],
  ['bytes_per_s', 1_000, { text: 'x'.repeat(4_000) }, 3],
])('charges commands where %s is %i', async (limit, perS, params, letIn) => {
  const { orgId: limited } = await one!.app.get(Organizations).create('Limited', true, { limits: { [limit]: perS } });
  const { secret } = await makeKey(storage.log, limited);
  await storage.views.open(apiKeys).caughtUp();
  for (let sent = 0; sent < letIn; sent++) expect((await send(one!, 'nobody', 'a', secret, params)).status).toBe(200);
  // What the requests before took long for may let some more in.
  await eventually(async () => expect(await send(one!, 'nobody', 'a', secret, params)).toMatchObject({ status: 429, code: 'over_rate' }));
});

it('lets 1,000 commands of an organization wait for their reply, and no more', async () => {
  const device = await connect(one!, newSource());
  const held = Promise.withResolvers<void>();
  one!.reading = held.promise;
  const sender = other!.app.get(CommandSender);
  const waiting = Promise.allSettled(Array.from({ length: 1_000 }, () => sender.send(orgId, `s${made}`, 'wait', '{}')));
  expect(await send(other!, `s${made}`, 'more')).toMatchObject({ status: 429, code: 'over_rate' });
  held.resolve();
  expect((await waiting).filter((told) => told.status === 'fulfilled' && told.value !== undefined)).toHaveLength(64);
  await device.close();
  await eventually(async () => expect(await send(other!, `s${made}`, 'more')).toMatchObject({ status: 200, queued: false }));
});

it('drops, counts and does not keep what a device says of a command of another device', async () => {
  const [mine, stranger] = [await connect(one!, newSource()), await connect(one!, newSource())];
  await send(other!, `s${made - 1}`, 'mine');
  const frame = await mine.json();
  report(stranger, frame, 'result');
  report(mine, frame, 'error');
  await eventually(async () => expect(await outcomes('mine')).toHaveLength(1));
  expect(await outcomes('mine')).toEqual([{ id: frame['id'], command: 'mine', event: 'error' }]);
  const dropped = one!.app.get(Metrics).all.find(({ name }) => name === 'headwater_command_reports_dropped')!;
  await eventually(async () => expect(await dropped.read()).toBe(1));
  await Promise.all([mine.close(), stranger.close()]);
});

it('awaits the end of the 256 newest commands of a device', async () => {
  const device = await connect(one!, newSource());
  const old = (at: number): CommandState => ({
    orgId,
    sourceId: `s${made}`,
    commandId: `00${String(at).padStart(3, '0')}`,
    name: 'old',
    sentMs: 1,
    isAcknowledged: true,
  });
  await storage.log.append(Array.from({ length: 300 }, (_, at) => entry(commandStates, old(at))));
  const view = storage.views.open(commandStates);
  const open = (): string[] => Array.from(view.scan(`${orgId}/s${made}/`), ([, { commandId }]) => commandId);
  // `connect` has sent two commands, which count too until the log has their ends.
  await eventually(() => expect(open()).toHaveLength(300));
  const { id } = await send(other!, `s${made}`, 'newest');
  await eventually(() => expect([open().length, open()[0], open().at(-1)]).toEqual([256, '00045', id]));
  await device.close();
});

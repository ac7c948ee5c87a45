import { describe, expect, it } from '@jest/globals';
import type { EntryJson } from '../http/client.js';
import type { Answer } from '../http/send.js';
import { SocketClient, type Frame } from '../http/socket-client.js';
import { itWith, known, problem, type Section, type Stage } from './stage.js';

interface Receipt {
  readonly queued: boolean;
  readonly id?: string;
}

const ask = (stage: Stage, sourceId: string, body: unknown, client = stage.own): Promise<Answer> =>
  client.ask({
    method: 'POST',
    path: `/v1/sources/${sourceId}/commands`,
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

async function send(stage: Stage, sourceId: string, command: string, params?: unknown): Promise<Receipt> {
  const answer = await ask(stage, sourceId, { command, params });
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"queued":')]);
  return JSON.parse(answer.text) as Receipt;
}

/** A device that is let in. */
async function login(stage: Stage, sourceId: string, more: object = {}): Promise<SocketClient> {
  const device = await SocketClient.open(stage.urls.ingest, '/ws/device');
  stage.live.watch(device.socket, '/ws/device');
  device.send({ type: 'device_auth', api_key: stage.own.key, source_id: sourceId, ...more });
  expect(await device.json()).toMatchObject({ type: 'authenticated' });
  return device;
}

/** The only connection of a device, once every gateway knows it. */
async function connect(stage: Stage, sourceId: string, more: object = {}): Promise<SocketClient> {
  const device = await login(stage, sourceId, more);
  await known(async () => {
    expect(await send(stage, sourceId, 'hello')).toMatchObject({ queued: true });
    reportOn(device, await device.json(), 'ack');
  });
  return device;
}

/** The next command of this name. */
async function next(device: SocketClient, command: string): Promise<Frame> {
  for (;;) {
    const frame = await device.json();
    if (frame['command'] === command) return frame;
  }
}

/** Says how a command went, in the words in which it came. */
function reportOn(device: SocketClient, { type, id, run_id, command }: Frame, event: 'ack' | 'result' | 'error', what: object = {}): void {
  const state = { ack: 'acknowledged', result: 'succeeded', error: 'failed' }[event];
  device.send(
    type === 'command_run'
      ? { type: 'command_status', run_id, seq: 1, state, ...what }
      : { type: 'command_result', id, command, event, ...what },
  );
}

/** The outcomes of commands that are named so, as readers find them. */
async function outcomes(stage: Stage, sourceId: string, command: string, count: number): Promise<readonly EntryJson[]> {
  const of = (entries: readonly EntryJson[]): EntryJson[] =>
    entries.filter(({ value }) => (JSON.parse(value) as { command: string }).command === command);
  const entries = await stage.reads<readonly EntryJson[]>(sourceId, '/logs?tail=1000&name=command.result', (found) =>
    expect(of(found)).toHaveLength(count),
  );
  return of(entries);
}

export const commands: Section = (stage) => {
  describe('§4.2, decisions §5.6, §5.9: commands', () => {
    it('to a device that is not connected are not queued', async () => {
      expect(await send(stage(), stage().id('offline'), 'reboot')).toEqual({ queued: false });
    });

    it('reach the device as they were sent, and their outcome is stored once, at their sending time', async () => {
      const id = stage().id('commanded');
      const [device, other] = [await connect(stage(), id), await connect(stage(), stage().id('other-device'))];
      const beforeMs = Date.now();
      const params = { delay_s: 5, list: [1, null, 'é'], nested: { a: {} } };
      const sent = await send(stage(), id, 'reboot', params);
      expect(sent).toEqual({ queued: true, id: expect.stringMatching(/^[A-Za-z0-9_-]{1,30}$/) });
      const text = await device.text();
      expect(text).toBe(`{"type":"typed_command","id":"${sent.id}","command":"reboot","params":${JSON.stringify(params)}}`);
      const frame = JSON.parse(text) as Frame;
      reportOn(other, frame, 'result', { result: 'not mine' });
      for (const event of ['ack', 'ack', 'result', 'result', 'error'] as const)
        reportOn(device, frame, event, event === 'result' ? { result: { up: [1] } } : {});
      const found = await outcomes(stage(), id, 'reboot', 2);
      expect(new Set(found.map(({ value }) => value))).toEqual(
        new Set([
          `{"id":"${sent.id}","command":"reboot","event":"ack"}`,
          `{"id":"${sent.id}","command":"reboot","event":"result","result":{"up":[1]}}`,
        ]),
      );
      const times = new Set(found.map(({ timestamp_ms: timeMs }) => timeMs));
      expect(times.size).toBe(1);
      expect(Math.abs([...times][0]! - beforeMs)).toBeLessThan(60_000);
      await outcomes(stage(), stage().id('other-device'), 'reboot', 0);
      await Promise.all([device.close(), other.close()]);
    });

    it('are runs to a device that lists their name, and its statuses are acknowledged', async () => {
      const id = stage().id('runner');
      const device = await connect(stage(), id, { protocol: 1, commands: [{ name: 'calibrate' }] });
      const { id: runId } = await send(stage(), id, 'calibrate');
      const text = await device.text();
      expect(text).toMatch(
        new RegExp(`^\\{"type":"command_run","run_id":"${runId}","command":"calibrate","params":\\{\\},"ttl_ms":\\d+,"attempt":1\\}$`),
      );
      const states = [{ state: 'acknowledged' }, { state: 'running' }, { state: 'failed', error_code: 'E7', error_message: 'stuck' }];
      for (const [at, state] of states.entries()) {
        device.send({ type: 'command_status', run_id: runId, seq: at + 1, ...state });
        expect(await device.json()).toEqual({ type: 'command_status_ack', run_id: runId, seq: at + 1 });
      }
      const values = (await outcomes(stage(), id, 'calibrate', 2)).map(({ value }) => JSON.parse(value) as Frame);
      expect(new Set(values.map(({ event }) => event))).toEqual(new Set(['ack', 'error']));
      expect(values.find(({ event }) => event === 'error')!['error']).toContain('stuck');
      expect((await send(stage(), id, 'unlisted')).queued).toBe(true);
      expect(await device.json()).toMatchObject({ type: 'typed_command', command: 'unlisted' });
      await device.close();
    });

    it('are not queued while 64 are undelivered', async () => {
      const id = stage().id('full');
      const device = await connect(stage(), id);
      const sent = await Promise.all(Array.from({ length: 70 }, () => send(stage(), id, 'fill')));
      expect(sent.filter(({ queued }) => queued)).toHaveLength(64);
      const frames = await Promise.all(Array.from({ length: 64 }, () => device.json()));
      expect(new Set(frames.map((frame) => frame['id']))).toEqual(new Set(sent.flatMap((one) => one.id ?? [])));
      expect(await send(stage(), id, 'fill')).toEqual({ queued: false });
      reportOn(device, frames[7]!, 'ack');
      await known(async () => {
        const one = await send(stage(), id, 'fill');
        if (one.queued) reportOn(device, await device.json(), 'ack');
        expect(one.queued).toBe(true);
      });
      await device.close();
    });

    it('are queued again once the device has said which of the 64 it knows of', async () => {
      const id = stage().id('synced');
      const device = await connect(stage(), id, { protocol: 1, commands: ['fill'] });
      await Promise.all(Array.from({ length: 64 }, () => send(stage(), id, 'fill')));
      const frames = await Promise.all(Array.from({ length: 64 }, () => device.json()));
      expect(await send(stage(), id, 'fill')).toEqual({ queued: false });
      const startMs = performance.now();
      device.send({ type: 'command_sync', runs: frames.map(({ run_id }) => ({ run_id, state: 'running', seq: 1 })) });
      await known(async () => expect((await send(stage(), id, 'fill')).queued).toBe(true));
      // After 30 s they are given up, whatever the device says.
      expect(performance.now() - startMs).toBeLessThan(20_000);
      await device.close();
    });

    it('go to the newest connection of their device, and back to the older one when that ends', async () => {
      const id = stage().id('twice');
      const older = await connect(stage(), id);
      const newer = await login(stage(), id);
      await known(async () => {
        await send(stage(), id, 'hello');
        expect(newer.left.length).toBeGreaterThan(0);
      });
      expect((await send(stage(), id, 'one')).queued).toBe(true);
      await next(newer, 'one');
      await newer.close();
      await known(async () => expect((await send(stage(), id, 'two')).queued).toBe(true));
      await next(older, 'two');
      await older.close();
    });

    it('whose answer is too large for an event leave an outcome that says so', async () => {
      const id = stage().id('talkative');
      const device = await connect(stage(), id);
      await send(stage(), id, 'dump');
      reportOn(device, await device.json(), 'result', { result: 'x'.repeat(5000) });
      const [entry] = await outcomes(stage(), id, 'dump', 1);
      expect(JSON.parse(entry!.value)).toMatchObject({ event: 'result', error: expect.stringContaining('left out') });
      await device.close();
    });

    itWith('OTHER_API_KEY')('of another organization find nobody', async () => {
      const id = stage().id('foreign');
      const device = await connect(stage(), id);
      const answered = await ask(stage(), id, { command: 'reboot' }, stage().other);
      expect([answered.status, answered.text]).toEqual([200, '{"queued":false}']);
      await device.close();
    });

    const deep = `{"command":"a","params":${'{"a":'.repeat(70)}1${'}'.repeat(70)}}`;
    it.each<readonly [string, unknown, number, string]>([
      ['no JSON', '{', 400, 'invalid_json'],
      ['a list', [], 400, 'invalid_body'],
      ['no command', {}, 400, 'invalid_body'],
      ['an empty command', { command: '' }, 400, 'invalid_body'],
      ['a command of 129 characters', { command: 'x'.repeat(129) }, 400, 'invalid_body'],
      ['params that are a list', { command: 'a', params: [] }, 400, 'invalid_body'],
      ['params that are nested too deep', deep, 400, 'json_too_deep'],
      ['params of more than 64 KiB', { command: 'a', params: { a: 'x'.repeat(65 * 1024) } }, 413, 'params_too_large'],
    ])('with %s are refused', async (_, body, status, code) => {
      problem(await ask(stage(), stage().id('offline'), body), status, code);
    });

    it('of 128 characters, with 64 KiB of params, to a bad source id', async () => {
      const params = { a: 'x'.repeat(64 * 1024 - 8) };
      expect(await send(stage(), stage().id('offline'), 'x'.repeat(128), params)).toEqual({ queued: false });
      problem(await ask(stage(), '-a', { command: 'a' }), 400, 'invalid_source_id');
    });
  });
};

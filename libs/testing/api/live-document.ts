import { describe, expect, it } from '@jest/globals';
import { SocketClient, type Frame } from '../http/socket-client.js';
import { LiveContract } from './live-contract.js';
import { known, type Section, type Stage } from './stage.js';

/** A socket both ends of which are held against a contract. */
class WatchedSocket {
  private constructor(
    readonly client: SocketClient,
    private readonly path: string,
    private readonly contract: LiveContract,
  ) {}

  static async open(base: string, path: string, contract: LiveContract): Promise<WatchedSocket> {
    const client = await SocketClient.open(base, path);
    contract.watch(client.socket, path);
    return new WatchedSocket(client, path, contract);
  }

  send(frame: Frame): void {
    this.contract.check(this.path, 'receive', JSON.stringify(frame));
    this.client.send(frame);
  }

  /** The next frame of this type. */
  async next(type: string): Promise<Frame> {
    for (;;) {
      const frame = await this.client.json();
      if (frame['type'] === type) return frame;
    }
  }
}

async function command(stage: Stage, sourceId: string, name: string): Promise<void> {
  await known(async () => {
    const { text } = await stage.own.ask({
      method: 'POST',
      path: `/v1/sources/${sourceId}/commands`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ command: name, params: { a: 1 } }),
    });
    expect(text).toContain('"queued":true');
  });
}

/** Everything that a device and readers of its streams may send and get while nothing fails. */
async function session(stage: Stage, contract: LiveContract): Promise<void> {
  const source_id = stage.id('session');
  const { key: api_key } = stage.own;
  const { api, ingest } = stage.urls;
  const readers = await Promise.all(
    ['metrics', 'logs'].map(async (what) => {
      const path = `/v1/sources/${source_id}/${what}/stream`;
      const [fresh, lost] = await Promise.all(
        ['cursor=1', 'after=nobody'].map((query) => WatchedSocket.open(api, `${path}?${query}`, contract)),
      );
      for (const reader of [fresh!, lost!]) reader.send({ type: 'auth', api_key });
      await Promise.all([fresh!.next('cursor'), lost!.next('gap')]);
      return fresh!;
    }),
  );

  const stranger = await WatchedSocket.open(ingest, '/ws/device', contract);
  stranger.send({ type: 'device_auth', api_key: 'hw_nobody', source_id });
  await stranger.client.end();

  const device = await WatchedSocket.open(ingest, '/ws/device', contract);
  device.send({ type: 'device_auth', api_key, source_id, acks: true, protocol: 1, commands: [{ name: 'run' }], platform: 'linux' });
  await device.next('authenticated');
  const points = [
    { metric: 'a', value: 1, tags: { room: 'cellar' } },
    { metric: 'e', class: 'event', value: { b: [null] } },
  ];
  device.send({ type: 'telemetry', seq: 1, points });
  await device.next('telemetry_ack');
  device.client.send({ type: 'telemetry', seq: 2, points: [{ value: 1 }] });
  await device.next('error');
  for (const type of ['heartbeat', 'pong']) device.send({ type });

  await command(stage, source_id, 'typed');
  const { id } = await device.next('typed_command');
  device.send({ type: 'command_result', id, command: 'typed', event: 'result', result: { a: 1 } });
  await command(stage, source_id, 'run');
  const { run_id } = await device.next('command_run');
  device.send({ type: 'command_status', run_id, seq: 1, state: 'succeeded', result: 7 });
  await device.next('command_status_ack');
  device.send({ type: 'command_sync', runs: [{ run_id, state: 'succeeded', seq: 1 }] });

  await Promise.all([readers[0]!.next('telemetry'), readers[1]!.next('event')]);
  await device.client.close();
}

export const liveDocument: Section = (stage) => {
  describe('/asyncapi.json describes the WebSockets', () => {
    it('frame by frame: a session has each of its messages, both ways, and no others', async () => {
      const contract = new LiveContract(stage().live.document);
      await session(stage(), contract);
      expect(contract.complaints).toEqual([]);
      const all = Object.keys(contract.document.channels).flatMap((id) =>
        (['send', 'receive'] as const).flatMap((action) => contract.messages(id, action).map((name) => `${id} ${action} ${name}`)),
      );
      // Only the loss of the log has a server say this.
      expect(all.filter((one) => !contract.seen.has(one))).toEqual([
        'metricStream send gateway_reconnecting',
        'logStream send gateway_reconnecting',
      ]);
    });

    it('every frame that this suite got, and every code that closed a socket', () => {
      expect(stage().live.complaints).toEqual([]);
    });

    it.each([
      ['an acknowledgement without a number', '/ws/device', 'send', { type: 'telemetry_ack' }],
      ['a field that nobody knows', '/ws/device', 'send', { type: 'telemetry_ack', seq: 1, more: 1 }],
      ['what only the server says', '/ws/device', 'receive', { type: 'telemetry_ack', seq: 1 }],
      ['a value that is no number', '/ws/device', 'receive', { type: 'telemetry', points: [{ metric: 'a', value: 'x' }] }],
      ['an event among points', '/v1/sources/a/metrics/stream', 'send', { type: 'event' }],
    ] as const)('has no message that is %s', (_, path, action, frame) => {
      const contract = new LiveContract(stage().live.document);
      contract.check(path, action, JSON.stringify(frame));
      expect(contract.complaints).toHaveLength(1);
    });
  });
};

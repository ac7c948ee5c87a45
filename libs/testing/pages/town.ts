import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onFolder, type Running } from '#runtime';
import { send } from '../http/send.js';
import { makeKey, makeOrganization } from '../make-keys.js';
import { makeAccount, makeMember } from '../make-people.js';
import { SmtpServer } from '../smtp-server.js';
import { startEmbedded } from '../start-embedded.js';

export const password = 'correct horse battery staple';
const minute = 60_000;

/** A server in one process with people, and with devices that have something to show. */
export class Town {
  private constructor(
    private readonly dataDir: string,
    private readonly running: Running,
    private readonly smtp: SmtpServer,
    private readonly key: string,
  ) {}

  static async open(): Promise<Town> {
    const dataDir = await mkdtemp(join(tmpdir(), 'headwater-pages-'));
    const key = await settle(dataDir);
    const smtp = await SmtpServer.open();
    const mail = { smtpUrl: smtp.url, mailFrom: 'hw@example.org' };
    const provider = { oidcIssuer: 'https://id.example', oidcClientId: 'town', oidcClientSecret: 'of the town' };
    const running = await startEmbedded({ dataDir, ...mail, ...provider });
    const town = new Town(dataDir, running, smtp, key);
    await measure((body) => town.send(body));
    return town;
  }

  get url(): string {
    return this.running.url;
  }

  /** Sends points of the organization that has some. */
  async send(body: unknown): Promise<void> {
    await this.#post('/ingest', body, 200);
  }

  /** Defines a monitor there. Its id. */
  async watch(monitor: unknown): Promise<string> {
    return (JSON.parse(await this.#post('/api/monitors', monitor, 201)) as { id: string }).id;
  }

  /** Makes a target of alerts there. Its id. */
  async tell(target: unknown): Promise<string> {
    return (JSON.parse(await this.#post('/api/alert-targets', target, 201)) as { id: string }).id;
  }

  async #post(path: string, body: unknown, expected: number): Promise<string> {
    const headers = { 'x-api-key': this.key, 'content-type': 'application/json' };
    const { status, text } = await send(this.url, { method: 'POST', path, headers, body: JSON.stringify(body) });
    if (status !== expected) throw new Error(text);
    return text;
  }

  async close(): Promise<void> {
    await this.running.stop();
    await this.smtp.close();
    await rm(this.dataDir, { recursive: true });
  }
}

/** Makes the people. The secret of a key. */
async function settle(dataDir: string): Promise<string> {
  const { log, close } = await onFolder(async ({ openStorage }) => {
    const storage = await openStorage(dataDir);
    return { log: storage.log, close: () => storage.close() };
  });
  const [mill, empty] = [await makeOrganization(log, true, 'Mill'), await makeOrganization(log, true, 'Empty')];
  const ada = await makeAccount(log, 'ada@example.com', password);
  await makeMember(log, mill, ada, 'owner');
  await makeMember(log, empty, ada, 'owner');
  await makeMember(log, empty, await makeAccount(log, 'new@example.com', password), 'owner');
  await makeMember(log, mill, await makeAccount(log, 'vic@example.com', password), 'viewer');
  await makeMember(log, mill, await makeAccount(log, 'mel@example.com', password), 'member');
  const { secret } = await makeKey(log, mill);
  await close();
  return secret;
}

async function measure(ingest: (body: unknown) => Promise<void>): Promise<void> {
  const nowMs = Date.now();
  const points = Array.from({ length: 26 * 60 }, (_, at) => {
    const timestamp = nowMs - at * minute;
    const hours = timestamp / 3_600_000;
    const isOut = at > 300 && at < 420;
    const noise = (seed: number): number => ((Math.sin(at * 12.9898 + seed) * 43_758.5453) % 1) - 0.5;
    return isOut
      ? []
      : [
          { metric: 'machine.temperature', value: 71 + 6 * Math.sin(hours / 3) + 2 * noise(1), timestamp },
          { metric: 'machine.temperature', value: 71 + 6 * Math.sin(hours / 3) + 2 * noise(2), timestamp: timestamp - 20_000 },
          { metric: 'hydraulics.pressure', value: 1.8e5 + 9e3 * Math.sin(hours * 2) + 4e3 * noise(3), timestamp },
          ...(at % 30 === 0 ? [{ metric: 'filter.wear', value: 0.02 - at * 1e-6, timestamp }] : []),
        ];
  }).flat();
  const events = [
    {
      metric: 'door.opened',
      class: 'event',
      value: { by: 'night shift', door: 'north' },
      timestamp: nowMs - 5 * minute,
      tags: { hall: '3' },
    },
    { metric: 'fault', class: 'event', value: `E42: ${'the spindle ran hot and was stopped; '.repeat(8)}`, timestamp: nowMs - 90 * minute },
    { metric: 'restarted', class: 'event', value: 'firmware 2.4.1', timestamp: nowMs - 200 * minute },
  ];
  await ingest({ source_id: 'press-7', points: [...points, ...events] });
  await ingest({ source_id: 'greenhouse', points: [{ metric: 'air.temperature', value: 21.5 }] });
  await ingest({
    source_id: 'line-a.'.padEnd(256, 'x'),
    points: [
      { metric: '<script>alert(1)</script> & "quotes"', value: -1.7e308 },
      { metric: `a.${'very.'.repeat(40)}long.name`, value: 1e-9 },
      { metric: '<b>event</b>', class: 'event', value: { html: '<img src=x onerror=alert(1)>' } },
    ],
  });
  for (let at = 0; at < 60; at++)
    await ingest({ source_id: `sensor-${String(at).padStart(2, '0')}`, points: [{ metric: 'm', value: at, timestamp: nowMs }] });
}

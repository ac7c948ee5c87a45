import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomInt } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OperatorError } from '#model';
import { describeOnServers, eventually, openWay, serverEnvironment } from '#testing';
import { freePorts } from '../../infra/servers/index.js';
import { ProcessorsModule } from '../../apps/processors/processors.module.js';
import { cluster } from './cluster.js';
import { readConfig } from './config.js';
import { initDataPlane } from './data-plane.js';
import { createLogger } from './logger.js';
import { start } from './start.js';

const number = randomInt(1, 1_000_000);
const servers = ['HEADWATER_KAFKA_BROKERS', 'HEADWATER_REGISTRY_URL', 'HEADWATER_QUESTDB_PG'] as const;

describeOnServers('the data plane whose servers are away', () => {
  let there: Readonly<Record<string, string>>;
  let ports: readonly number[];
  const ways: Server[] = [];
  beforeAll(async () => {
    there = {
      ...serverEnvironment(),
      HEADWATER_KAFKA_PREFIX: `patient${number}.`,
      HEADWATER_CACHE: mkdtempSync(join(tmpdir(), 'headwater-cache-')),
    };
    ports = await freePorts(servers.length);
  });
  afterAll(() => {
    for (const way of ways) way.close();
  });

  const address = /[\w.-]+:\d+(?=$|\/)/;
  const first = (name: (typeof servers)[number]): string => there[name]!.split(',')[0]!;
  /** With the address of a server as one at which nobody listens yet. */
  const away = (name: (typeof servers)[number]): Readonly<Record<string, string>> => ({
    [name]: first(name).replace(address, `127.0.0.1:${ports[servers.indexOf(name)]}`),
  });

  it('waits for each of them, says for which, and is made in the end', async () => {
    const said: string[] = [];
    const config = readConfig(Object.assign({}, there, ...servers.map(away)));
    const made = initDataPlane(config, (line) => said.push(line), 1000 * number);
    const waitsFor = ['Kafka does not answer', 'The schema registry does not answer', 'QuestDB does not answer'];
    for (const [at, name] of servers.entries()) {
      await eventually(() => expect(said).toContainEqual(expect.stringContaining(waitsFor[at]!)));
      ways.push(await openWay(ports[at]!, address.exec(first(name))![0]));
    }
    expect(await made).toMatch(/^hw_/);
    expect([...new Set(said.map((line) => waitsFor.find((one) => line.includes(one))))]).toEqual(waitsFor);
  });

  it.each([
    ['HEADWATER_KAFKA_BROKERS', 3_000, /^The log cannot be opened: Kafka /],
    // Kafka and the registry are there, and may be busy.
    ['HEADWATER_QUESTDB_PG', 20_000, /^QuestDB cannot be used: /],
  ] as const)('does not wait for ever: %s', async (name, patienceMs, words) => {
    for (const way of ways.splice(0)) way.close();
    const failed = initDataPlane(readConfig({ ...there, ...away(name) }), () => undefined, 1000 * number, patienceMs);
    await expect(failed).rejects.toThrow(words);
    await expect(failed).rejects.toBeInstanceOf(OperatorError);
  });

  it('refuses a QuestDB that may lose what it accepts, as processors do until it is another one', async () => {
    const [port] = (await freePorts(1)) as [number];
    let mode = 'none';
    const pg = there['HEADWATER_QUESTDB_PG']!;
    const way = await openWay(port, address.exec(pg)![0], 0, (answer) => answer.replace(/(?<=QDB_CAIRO_COMMIT_MODE.{4})sync/s, mode));
    ways.push(way);
    const told = { HEADWATER_QUESTDB_PG: pg.replace(address, `127.0.0.1:${port}`), HEADWATER_PORT: '0', HEADWATER_ADMIN_PORT: '0' };
    const config = readConfig({ ...there, ...told });
    const words = /cairo\.commit\.mode is none\. Start it with QDB_CAIRO_COMMIT_MODE=sync/;
    const failed = initDataPlane(config, () => undefined, 1000 * number);
    await expect(failed).rejects.toThrow(words);
    await expect(failed).rejects.toBeInstanceOf(OperatorError);

    const processors = await start(ProcessorsModule, cluster('processors'), config, await createLogger('silent'));
    try {
      const whyNot = async (): Promise<string> =>
        ((await (await fetch(`${processors.url}/health/ready`)).json()) as { reasons: string[] }).reasons.join();
      await eventually(async () => expect(await whyNot()).toMatch(words));
      mode = 'sync';
      await eventually(async () => expect(await whyNot()).toBe(''));
    } finally {
      await processors.stop();
    }
  });

  it('does not wait when a server refuses', async () => {
    const config = readConfig({ ...there, HEADWATER_QUESTDB_PG: there['HEADWATER_QUESTDB_PG']!.replace(':quest@', ':wrong@') });
    await expect(initDataPlane(config, () => undefined, 1000 * number)).rejects.toThrow(/^QuestDB cannot be used: .*password/);
  });
});

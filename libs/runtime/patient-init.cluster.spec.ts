import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomInt } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnServers, eventually, openWay, serverEnvironment } from '#testing';
import { freePorts } from '../../infra/servers/index.js';
import { readConfig, StartError } from './config.js';
import { initDataPlane } from './data-plane.js';

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
    await expect(failed).rejects.toBeInstanceOf(StartError);
  });

  it('does not wait when a server refuses', async () => {
    const config = readConfig({ ...there, HEADWATER_QUESTDB_PG: there['HEADWATER_QUESTDB_PG']!.replace(':quest@', ':wrong@') });
    await expect(initDataPlane(config, () => undefined, 1000 * number)).rejects.toThrow(/^QuestDB cannot be used: .*password/);
  });
});

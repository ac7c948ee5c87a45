import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openLog, readConfig, type Role } from '#runtime';
import { points } from '#topics';
import { eventually } from '../eventually.js';
import { deviceId } from '../load/load.js';
import { Random } from '../random.js';
import { describeOnOwnServers } from '../servers.js';
import { durations, rowMs } from './durations.js';
import { appendPoison, poisonsBeside } from './poison.js';
import { untouched, type Row } from './rows.js';
import { Stage } from './stage.js';

const seed = Number(process.env['FAULTS_SEED'] ?? Math.floor(Math.random() * 1e6));
const random = new Random(seed);

/** A supervisor starts it again. */
const killed = (role: Role): Row['fault'] =>
  async function kill({ cluster }) {
    for (let count = 0; count < durations.kills; count++) {
      const replica = random.pick(cluster.processes(role));
      process.kill(replica.pid!, 'SIGKILL');
      await eventually(async () => expect(await fetch(replica.url).catch(() => 'gone')).toBe('gone'));
      await replica.ready();
      await pause(random.whole(0, 1000));
    }
  };

const rows: Readonly<Record<string, Row>> = {
  'kill -9 of ingress': { mayRefuse: ['ingress'], fault: killed('ingress') },
  'kill -9 of one of two processors': { mayRefuse: [], fault: killed('processors') },
  'kill -9 of query': { mayRefuse: ['query'], fault: killed('query') },
  'kill -9 of control': { mayRefuse: ['control'], fault: killed('control') },

  'a processor that is frozen for longer than its session and then goes on': {
    mayRefuse: [],
    async fault(stage, load) {
      const [frozen] = stage.cluster.processes('processors');
      process.kill(frozen!.pid!, 'SIGSTOP');
      try {
        await pause(durations.frozenMs);
        // The other one has its partitions by now.
        await stage.shows(load);
      } finally {
        process.kill(frozen!.pid!, 'SIGCONT');
      }
    },
  },

  'records that nobody can use': {
    mayRefuse: [],
    async fault(stage, { load }) {
      const { org_id: orgId } = await stage.client.json<{ org_id: string }>('/api/auth/verify-key');
      const poisons = poisonsBeside(orgId, deviceId(load, 0));
      const kafka = await openLog(readConfig(stage.cluster.environment), () => undefined);
      try {
        for (const poison of poisons) await appendPoison(kafka.log, poison);
        // Points are read by the group of the series and by that of the sources.
        const expected = poisons.flatMap(({ key, reason }) => ['series', 'sources'].map((group) => ({ key, reason, group })));
        await eventually(async () => {
          const letters = await kafka.deadLetters.newest(points, 100);
          const found = letters.map(({ key, headers }) => ({
            key,
            reason: headers['reason'],
            group: headers['group']?.replace(/\..*/, ''),
          }));
          expect(found).toEqual(expect.arrayContaining(expected));
          expect(found).toHaveLength(expected.length);
        });
      } finally {
        await kafka.close();
      }
    },
  },

  'kill -9 of the broker': {
    mayRefuse: ['ingress'],
    async fault({ servers }) {
      const [broker] = servers.kafka.servers;
      for (let restart = 0; restart < durations.brokerRestarts; restart++) {
        await broker!.kill('SIGKILL');
        await pause(durations.brokerDownMs);
        await broker!.start();
      }
    },
  },

  'kill -9 of QuestDB': {
    mayRefuse: ['query'],
    async fault({ servers }) {
      const { server } = servers.questDb;
      await server.kill('SIGKILL');
      await pause(durations.questDbDownMs);
      await server.start();
    },
  },

  // The last: what it held is gone.
  'a registry that is gone for good, and restarts of all roles without it': {
    mayRefuse: ['ingress', 'query', 'control'],
    async fault({ servers, cluster }) {
      await servers.registry.server.kill('SIGKILL');
      await pause(durations.registryDownMs);
      await cluster.restart();
    },
  },
};

describeOnOwnServers(`a cluster under load and what may break: FAULTS_SEED=${seed} npm run jest -- cluster.faults`, () => {
  let stage: Stage;
  beforeAll(async () => void (stage = await Stage.start(seed, 1)), 300_000);
  afterAll(() => stage?.stop(), 120_000);

  it.each(Object.entries(rows))(
    '%s',
    async (name, row) => {
      const refused = await stage.underLoad(name, (load) => row.fault(stage, load));
      expect(refused).toMatchObject(untouched(row));
    },
    rowMs,
  );
});

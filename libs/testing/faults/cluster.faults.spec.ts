import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { RoleProcess } from '../../../infra/cluster/role-process.js';
import { openLog, readConfig, type Role } from '#runtime';
import { points } from '#topics';
import { eventually } from '../eventually.js';
import type { LoadProcess } from '../load/load-process.js';
import { deviceId } from '../load/load.js';
import { Random } from '../random.js';
import { describeOnOwnServers } from '../servers.js';
import { durations, isLong, rowMs } from './durations.js';
import { deleteKey, freezeGateway, killGateway } from './gateways.js';
import { importDays } from './import-days.js';
import { underMonitors } from './monitors.js';
import { makeAgainBesideNewSources } from './new-sources.js';
import { appendPoison, poisonsBeside } from './poison.js';
import { refusedInVain, type FaultRow } from './rows.js';
import { Stage } from './stage.js';

const seed = Number(process.env['FAULTS_SEED'] ?? Math.floor(Math.random() * 1e6));
const random = new Random(seed);

const gone = (replica: RoleProcess): Promise<void> =>
  eventually(async () => expect(await fetch(replica.url).catch(() => 'gone')).toBe('gone'));

/** So many replicas of each role at once, which a supervisor starts again. */
const killed = (count: number, ...roles: readonly Role[]): FaultRow['fault'] =>
  async function kill({ cluster }) {
    for (let time = 0; time < durations.kills; time++) {
      const replicas = roles.flatMap((role) => random.shuffled(cluster.processes(role)).slice(0, count));
      for (const replica of replicas) process.kill(replica.pid!, 'SIGKILL');
      await Promise.all(replicas.map(gone));
      await Promise.all(replicas.map((replica) => replica.ready()));
      await pause(random.whole(0, 1000));
    }
  };

/** One replica is away, until the others have shown that they do its work. */
const stopped = (role: Role): FaultRow['fault'] =>
  async function stop(stage, load) {
    const replica = random.pick(stage.cluster.processes(role));
    await replica.stop('SIGTERM');
    const beganMs = performance.now();
    await stage.acknowledges(load);
    await stage.shows(load);
    process.stderr.write(
      `the other one of ${role} did all of it ${((performance.now() - beganMs) / 1000).toFixed(1)} s after the end of the one\n`,
    );
    replica.start();
    await replica.ready();
  };

const rows: Readonly<Record<string, FaultRow>> = {
  [`kill -9 of one of two processors, then of all with all control, under ${10 * durations.watched} monitors`]: {
    mayRefuse: ['control'],
    fault: (stage, load, live) =>
      underMonitors(stage, async () => {
        await killed(1, 'processors')(stage, load, live);
        await killed(2, 'processors', 'control')(stage, load, live);
      }),
  },
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

  'kill -9 of the broker': {
    mayRefuse: ['ingress'],
    live: 4,
    async fault({ servers }, _, live) {
      const [broker] = servers.kafka.servers;
      for (let restart = 0; restart < durations.brokerRestarts; restart++) {
        await broker!.kill('SIGKILL');
        await Promise.all([pause(durations.brokerDownMs), live.warned()]);
        await broker!.start();
      }
    },
  },

  ...(isLong && {
    'kill -9 of all ingress': { mayRefuse: ['ingress'], fault: killed(2, 'ingress') },
    'a key that is deleted while its devices and viewers are on both gateways': {
      mayRefuse: [],
      live: 4,
      fault: ((stage, _, live) => deleteKey(stage, live)) satisfies FaultRow['fault'],
    },
    'records that nobody can use': {
      mayRefuse: [],
      async fault(stage: Stage, { load }: LoadProcess) {
        const { org_id: orgId } = await stage.client.json<{ org_id: string }>('/api/auth/verify-key');
        const poisons = poisonsBeside(orgId, deviceId(load, 0));
        const kafka = await openLog(readConfig(stage.cluster.environment), () => undefined);
        try {
          for (const poison of poisons) await eventually(() => appendPoison(kafka.log, poison));
          // The groups that read points.
          const expected = poisons.flatMap(({ key, reason }) => ['series', 'sources', 'monitors'].map((group) => ({ key, reason, group })));
          await eventually(async () => {
            const { newest: letters } = await kafka.deadLetters.newest(points, 100);
            const found = letters.map(({ key, headers }) => ({
              key,
              reason: headers['reason'],
              group: headers['group']?.replace(/\..*/, ''),
            }));
            // One may be parked again by who takes over its partition.
            expect(found).toEqual(expect.arrayContaining(expected));
            expect(expected).toEqual(expect.arrayContaining(found));
          });
        } finally {
          await kafka.close();
        }
      },
    },
    'kill -9 of one of two gateways': {
      mayRefuse: [],
      live: 4,
      fault: ((stage, _, live) => killGateway(stage, random.pick(stage.cluster.processes('gateway')), live)) satisfies FaultRow['fault'],
    },
    'a gateway that is frozen for longer than others wait for it and then goes on': {
      mayRefuse: [],
      live: 4,
      fault: ((stage, _, live) => freezeGateway(stage, random.pick(stage.cluster.processes('gateway')), live)) satisfies FaultRow['fault'],
    },
    'kill -9 of QuestDB': {
      mayRefuse: ['query'],
      async fault({ servers }: Stage) {
        const { server } = servers.questDb;
        await server.kill('SIGKILL');
        await pause(durations.questDbDownMs);
        await server.start();
      },
    },
    'kill -9 of all query': { mayRefuse: ['query'], fault: killed(2, 'query') },
    // In npm test the other one takes over from one that is frozen.
    'SIGTERM of one of two processors': { mayRefuse: [], fault: stopped('processors') },
    // One that has just been started listens before it knows the keys.
    'SIGTERM of one of two ingress': { mayRefuse: ['ingress'], fault: stopped('ingress') },
    'generations that are made while new sources appear': { mayRefuse: [], fault: makeAgainBesideNewSources },
    'a body with 10,000 points in 10,000 days': { mayRefuse: [], fault: importDays },
  }),

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
      const refused = await stage.underLoad(name, row);
      expect(refusedInVain(refused, row)).toEqual([]);
    },
    rowMs,
  );
});

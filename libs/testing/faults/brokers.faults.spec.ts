import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Random } from '../random.js';
import { describeOnOwnServers } from '../servers.js';
import { eventually } from '../eventually.js';
import { durations, isLong, rowMs } from './durations.js';
import { refusedInVain, type FaultRow } from './rows.js';
import { Stage } from './stage.js';
import { twoOfEach } from '../cluster-deployment.js';
import { roles } from '#runtime';

const seed = Number(process.env['FAULTS_SEED'] ?? Math.floor(Math.random() * 1e6));
const random = new Random(seed);
/** What was under way when the brokers died has come to its end when nothing was acknowledged for so long; devices send every 2 s. */
const quietMs = 4000;

const rows: Readonly<Record<string, FaultRow>> = {
  ...(isLong && {
    'kill -9 of one': {
      mayRefuse: [],
      async fault({ servers }: Stage) {
        const broker = random.pick(servers.kafka.servers);
        await broker.kill('SIGKILL');
        await pause(durations.oneOfThreeDownMs);
        await broker.start();
      },
    },
  }),

  'kill -9 of two, while which nothing is acknowledged': {
    mayRefuse: ['ingress'],
    async fault({ servers }, load) {
      const two = random.shuffled(servers.kafka.servers).slice(1);
      await Promise.all(two.map((broker) => broker.kill('SIGKILL')));
      await eventually(async () => {
        const { length } = load.acknowledged();
        await pause(quietMs);
        expect(load.acknowledged()).toHaveLength(length);
      });
      const { length } = load.acknowledged();
      await pause(durations.twoOfThreeDownMs);
      expect(load.acknowledged()).toHaveLength(length);
      await Promise.all(two.map((broker) => broker.start()));
    },
  },
};

describeOnOwnServers(`three brokers under load, and the death of some: FAULTS=short FAULTS_SEED=${seed}`, () => {
  let stage: Stage;
  // The brokers are what breaks: one of each role will do where others share the machine.
  beforeAll(async () => void (stage = await Stage.start(seed, 3, isLong ? twoOfEach : roles)), 300_000);
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

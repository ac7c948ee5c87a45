import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { maxUndelivered } from '#model';
import { Random } from '../random.js';
import { sources } from './link.js';
import { SimulatedTime } from './machines.js';
import { World } from './world.js';

describe('gateways that share a log, whatever dies, stands still, is late, or comes again', () => {
  const all = { given: 0, refused: 0, woken: 0, full: 0 };
  // Devices also say things about commands that are none of theirs any more.
  beforeAll(() => Logger.overrideLogger(false));
  afterAll(() => expect(Math.min(...Object.values(all))).toBeGreaterThan(10));

  it.each(Array.from({ length: 60 }, (_, seed) => seed))(
    'seed %i: give no command twice, tell no sender what is not so, and agree on who is online',
    async (seed) => {
      const time = new SimulatedTime();
      const uninstall = time.install();
      try {
        const world = new World(time, new Random(seed + 1));
        await world.run(200);
        const { online, gateways } = world;
        expect(gateways.map((gateway) => gateway.online())).toEqual(gateways.map(() => online));
        expect(world.misled()).toEqual([]);
        const last = gateways.flatMap((gateway) => sources.map((sourceId) => ({ sourceId, name: world.send(sourceId, gateway) })));
        await time.pass(6_000);
        expect(last.map(({ name }) => world.told.get(name))).toEqual(last.map(({ sourceId }) => online.includes(sourceId)));
        expect(world.wrongs()).toEqual([]);
        expect(world.most.known).toBeLessThanOrEqual(maxUndelivered);
        // Those of one other gateway, if none of them has come to the log.
        expect(world.most.ofSource).toBeLessThanOrEqual(2 * maxUndelivered);
        all.given += world.given.size;
        all.refused += world.told.size - world.given.size;
        all.woken += world.woken;
        all.full += Number(world.most.ofGateway === maxUndelivered);
      } finally {
        uninstall();
      }
    },
  );
});

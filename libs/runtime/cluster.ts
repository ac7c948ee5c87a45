import type { Provider } from '@nestjs/common';
import { RECORD_LOG, VIEWS } from '#log';
import { GENERATIONS } from '#stores';
import { projections } from '#topics';
import { openLog, openStores } from './adapters.js';
import type { Backend } from './backend.js';
import { LiveGenerations } from './live-generations.js';
import { keepOf, looking, Retention } from './retention.js';
import { roleTable, type Role } from './roles.js';
import { tellShortcomings } from './shortcomings.js';

/** One role on Kafka, a registry and QuestDB, as many times as there are replicas. It opens only what it needs. */
export function cluster(role: Role): Backend {
  return {
    listensAtOnce: true,
    makesFirstKey: false,
    // What names take is not in this process, but in QuestDB and in the processors.
    names: { sources: 100_000, series: 1_000_000, tag_sets: 100_000 },
    checkpointMs: ({ checkpointS }) => checkpointS * 1000,
    async open(config, clock, report) {
      const kafka = await openLog(config, report, 0);
      const providers: Provider[] = [
        { provide: RECORD_LOG, useValue: kafka.log },
        { provide: VIEWS, useValue: kafka.views },
      ];
      const { stores: needsStores, storesAreSpare = false } = roleTable[role];
      if (!needsStores)
        return {
          providers,
          metrics: kafka.metrics,
          checks: [() => kafka.health()],
          dependencies: kafka.dependencies,
          opened: kafka.opened,
          close: () => kafka.close(),
          crash: () => kafka.crash(),
        };

      const stores = await openStores(config, clock);
      const generations = new LiveGenerations(kafka.views.open(projections), stores);
      const ends = [tellShortcomings(generations, stores, report)];
      if (role === 'processors') {
        const keep = keepOf(config);
        ends.push(looking(new Retention(keep, stores, kafka.groups, () => generations.current), { keep, report }));
      }
      const endAll = (): void => {
        for (const end of ends) end();
      };
      providers.push({ provide: GENERATIONS, useValue: generations });
      return {
        providers,
        metrics: [...kafka.metrics, ...stores.metrics],
        checks: [() => kafka.health(), ...(storesAreSpare ? [] : [() => stores.health(), () => generations.whyNot()])],
        dependencies: [...kafka.dependencies, { id: 'questdb', name: 'QuestDB', health: () => stores.health(), isSpare: storesAreSpare }],
        opened: kafka.opened.then(() => generations.ready),
        close: async () => {
          endAll();
          await kafka.close();
          await stores.close();
        },
        crash: async () => {
          endAll();
          await Promise.all([kafka.crash(), stores.crash()]);
        },
      };
    },
  };
}

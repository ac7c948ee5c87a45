import type { Provider } from '@nestjs/common';
import { RECORD_LOG, VIEWS } from '#log';
import { EVENT_STORE, GENERATIONS, SERIES_STORE } from '#stores';
import { projections } from '#topics';
import { asStartError, openLog, openStores } from './adapters.js';
import type { Backend } from './backend.js';
import { LiveGenerations } from './live-generations.js';
import { storesOf, type Role } from './roles.js';
import { tellShortcomings } from './shortcomings.js';

/** One role on Kafka, a registry and QuestDB, as many times as there are replicas. It opens only what it needs. */
export function cluster(role: Role): Backend {
  return {
    listensAtOnce: true,
    makesFirstKey: false,
    checkpointMs: ({ checkpointS }) => checkpointS * 1000,
    async open(config, clock, report) {
      const kafka = await openLog(config, report, 0);
      const logOpened = kafka.opened.catch(asStartError);
      const providers: Provider[] = [
        { provide: RECORD_LOG, useValue: kafka.log },
        { provide: VIEWS, useValue: kafka.views },
      ];
      if (storesOf[role] === 'none')
        return {
          providers,
          metrics: kafka.metrics,
          checks: [() => kafka.health()],
          opened: logOpened,
          close: () => kafka.close(),
          crash: () => kafka.crash(),
        };

      const questDb = await openStores(config, clock);
      const generations = new LiveGenerations(kafka.views.open(projections), questDb);
      const endTelling = tellShortcomings(generations, questDb, report);
      const whyNotWritten = (): string | undefined => (storesOf[role] === 'write' ? questDb.whyNotWritten() : undefined);
      // Asked for the first time now, so that an answer is there soon.
      whyNotWritten();
      providers.push(
        { provide: SERIES_STORE, useValue: generations.series },
        { provide: EVENT_STORE, useValue: generations.events },
        { provide: GENERATIONS, useValue: generations },
      );
      return {
        providers,
        metrics: [...kafka.metrics, ...questDb.metrics],
        checks: [() => kafka.health(), () => questDb.health(), whyNotWritten, () => generations.whyNot()],
        opened: logOpened.then(() => generations.ready),
        close: async () => {
          endTelling();
          await kafka.close();
          await questDb.close();
        },
        crash: async () => {
          endTelling();
          await Promise.all([kafka.crash(), questDb.crash()]);
        },
      };
    },
  };
}

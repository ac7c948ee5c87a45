import { Connections, deciders } from '#edge';
import type { Processor, RecordLog, Views } from '#log';
import type { Stores } from '#stores';
import { AlertTracker } from '../../apps/processors/alert-tracker.js';
import { DeliveryDesk } from '../../apps/processors/delivery-desk.js';
import { KnownSources } from '../../apps/processors/known-sources.js';
import { MonitorDefinitions } from '../../apps/processors/monitor-definitions.js';
import { MonitorWatch } from '../../apps/processors/monitor-watch.js';
import { NoticeMaker } from '../../apps/processors/notice-maker.js';
import { projectorsOf } from '../../apps/processors/projectors-of.js';
import { SourceTracker } from '../../apps/processors/source-tracker.js';
import { noOutbound } from './no-outbound.js';

/** Every processor that a server runs on a data folder. */
export const processorsOf = (storage: Stores & { readonly log: RecordLog; readonly views: Views }): readonly Processor[] => [
  ...projectorsOf({ ...storage, suffix: '' }),
  new SourceTracker(storage.log),
  new AlertTracker(storage.log),
  ...deciders(storage.log, storage.views, Date.now),
  new MonitorWatch(
    storage.log,
    new MonitorDefinitions(storage.views, Date.now),
    new KnownSources(storage.views),
    new Connections(storage.views, Date.now),
    Date.now,
  ),
  new NoticeMaker(storage.log, storage.views, Date.now),
  new DeliveryDesk(storage.log, storage.views, noOutbound, Date.now),
];

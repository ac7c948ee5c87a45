import { KeyDecider, Keyring } from '#edge';
import type { Processor, RecordLog, Views } from '#log';
import type { Stores } from '#stores';
import { projectorsOf } from '../../apps/processors/projectors-of.js';
import { SourceTracker } from '../../apps/processors/source-tracker.js';

/** Every processor that a server runs on a data folder. */
export const processorsOf = (storage: Stores & { readonly log: RecordLog; readonly views: Views }): readonly Processor[] => [
  ...projectorsOf({ ...storage, suffix: '' }),
  new SourceTracker(storage.log),
  new KeyDecider(storage.log, new Keyring(storage.views), Date.now),
];

import { KeyDecider, Keyring } from '#edge';
import type { Processor } from '#log';
import type { Storage } from '#sqlite';
import { projectorsOf } from '../../apps/processors/projectors-of.js';
import { SourceTracker } from '../../apps/processors/source-tracker.js';

/** Every processor that a server runs on a data folder. */
export const processorsOf = (storage: Storage): readonly Processor[] => [
  ...projectorsOf({ ...storage, suffix: '' }),
  new SourceTracker(storage.log),
  new KeyDecider(storage.log, new Keyring(storage.views), Date.now),
];

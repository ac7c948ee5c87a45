import { projectorsOf } from '../../apps/processors/projectors-of.js';
import { onFolder } from '#runtime';

/** A process of its own that rebuilds a data folder, so that a test can kill it. It sends a message when it begins. */
await onFolder(({ rebuild }) => {
  process.send?.('begin');
  return rebuild(process.argv[2]!, projectorsOf);
});

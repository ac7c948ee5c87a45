import { projectorsOf } from '../../apps/processors/projectors-of.js';
import { rebuild } from '#sqlite';

/** A process of its own that rebuilds a data folder, so that a test can kill it. It sends a message when it begins. */
process.send?.('begin');
await rebuild(process.argv[2]!, projectorsOf);

import { open } from 'node:fs';

/**
 * Loaded before a server, this keeps all threads of Node that wait for files busy from SIGUSR2 on, until somebody opens the named pipe STALLED_BY for
 * writing. So every write of a file waits, as for a disk that has stalled.
 */
process.on('SIGUSR2', () => {
  for (let n = 0; n < 64; n++) open(process.env['STALLED_BY']!, 'r', () => {});
});

import { open, writeFileSync } from 'node:fs';

/**
 * Loaded before a server, this keeps all threads of Node that wait for files busy from SIGUSR2 on, until somebody opens the named pipe STALLED_BY for
 * writing. So every write of a file waits, as for a disk that has stalled. Once that is so, there is a file `STALLED_BY.stalled`: a signal alone
 * says nothing about when the server hears of it.
 */
process.on('SIGUSR2', () => {
  const pipe = process.env['STALLED_BY']!;
  for (let n = 0; n < 64; n++) open(pipe, 'r', () => {});
  writeFileSync(`${pipe}.stalled`, '');
});

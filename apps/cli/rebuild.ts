import { command } from './command.js';
import { counted } from './counted.js';
import { dataFlag, offline, shownProgress } from './data-folder.js';

export const body = command({
  about:
    'Reads the whole log and writes new projections beside the old ones, which they replace at the end: ended in the middle, the old ones ' +
    'stand. Nothing is ever taken from the log itself.',
  flags: { data: { ...dataFlag, required: true }, json: { about: 'print what was done as JSON' } },
  examples: ['headwater rebuild --data data', 'headwater rebuild --data /var/lib/headwater --json'],
  async run({ data, json }, io) {
    const [{ rebuild }, { processorsOf }] = await Promise.all([import('#sqlite'), import('../processors/processors-of.js')]);
    const { records, unreadable } = await offline(data, () => rebuild(data, processorsOf, shownProgress(io)));
    io.note(`Rebuilt the projections from ${counted(records, 'record')}.`);
    if (unreadable > 0) io.note(`${counted(unreadable, 'record')} of the log cannot be decoded: in no projection.`);
    if (json) await io.data(`${JSON.stringify({ records, unreadable })}\n`);
  },
});

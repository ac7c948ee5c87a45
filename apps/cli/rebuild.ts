import { command } from './command.js';
import type { Io } from './io.js';
import { dataFlag, offline, onDataPlane, shownProgress, withoutDeletedFlag } from './target.js';
import { counted } from './text.js';

export const body = command({
  about:
    'With --data: reads the whole log of a stopped server and writes new projections beside the old ones, which they replace at the end; ' +
    'ended in the middle, the old ones stand. Without it: has the running processors make the projections again in new tables of the ' +
    'QuestDB that HEADWATER_QUESTDB_URL names, moves all readers once nothing lags, and drops the old tables; ended in the middle, the ' +
    'processors go on, and the same command waits for them again. Where Kafka has deleted records, by retention or otherwise, the new tables ' +
    'begin with all that the old ones have, unless --without-deleted-records says that they are to lack them. Where the log of a folder has dropped ' +
    'records (HEADWATER_KEEP_LOG), what the old projections have of them is taken over; when that is damaged, the same flag goes on without it. ' +
    'Nothing is ever taken from the log itself.',
  flags: { data: dataFlag, withoutDeletedRecords: withoutDeletedFlag, json: { about: 'print what was done as JSON' } },
  examples: ['headwater rebuild --data data', 'headwater rebuild --data /var/lib/headwater --json', 'headwater rebuild'],
  async run({ data, withoutDeletedRecords, json }, io) {
    if (data === undefined) return besideTheLiveOnes(withoutDeletedRecords, json, io);
    return inFolder(data, withoutDeletedRecords, json, io);
  },
});

async function inFolder(data: string, withoutDeleted: boolean, json: boolean, io: Io): Promise<void> {
  const { projectorsOf } = await import('../processors/projectors-of.js');
  const { records, unreadable } = await offline(data, ({ rebuild }) =>
    rebuild(data, projectorsOf, { onProgress: shownProgress(io), withoutDeleted }),
  );
  io.note(`Rebuilt the projections from ${counted(records, 'record')}.`);
  if (unreadable > 0) io.note(`${counted(unreadable, 'record')} of the log cannot be decoded: in no projection.`);
  if (json) await io.data(`${JSON.stringify({ records, unreadable })}\n`);
}

async function besideTheLiveOnes(withoutDeleted: boolean, json: boolean, io: Io): Promise<void> {
  const live = await onDataPlane(({ rebuildDataPlane }, config) =>
    rebuildDataPlane(
      config,
      { told: (line) => io.note(line), lags: (records) => io.progress(() => `${counted(records, 'record')} to go`) },
      { withoutDeleted },
    ),
  );
  if (json) await io.data(`${JSON.stringify({ generation: live })}\n`);
}

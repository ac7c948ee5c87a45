import type { Difference } from '#stores';
import { command } from './command.js';
import { Failure, usage } from './failure.js';
import { type Io } from './io.js';
import { dataFlag, offline, onDataPlane, shownProgress, withoutDeletedFlag } from './target.js';
import { counted, harmless } from './text.js';

export const body = command({
  about:
    'With --data: folds the log of a stopped server by brute force and compares points, rollups at every interval, events, metric names and ' +
    'sources, and looks at every block of the file for damage. Without it: has the running processors make the projections again in new ' +
    'tables of the QuestDB that HEADWATER_QUESTDB_URL names, compares points, rollups, events and metric names with those that readers use, ' +
    'and drops the new tables again; readers do not notice. What keeps changing meanwhile, like the newest bucket of a device that sends, is ' +
    'only counted. Ended in the middle, the processors go on, and the next verify or rebuild goes on from there. Of ' +
    'records that Kafka has deleted nothing can be said: what they may explain is only counted too. Names what differs, a line ' +
    'each; the exit code is 1 when anything does, unless --repair has mended it.',
  flags: {
    data: dataFlag,
    repair: { about: 'without --data: when anything differs, move readers to the new tables and drop the old ones' },
    withoutDeletedRecords: { about: `with --repair, ${withoutDeletedFlag.about}` },
    json: { about: 'print counts and differences as JSON' },
  },
  examples: [
    'headwater verify --data data',
    'headwater verify --data data --json | jq .first',
    'headwater verify',
    'headwater verify --repair',
  ],
  async run({ data, repair, withoutDeletedRecords, json }, io) {
    if (withoutDeletedRecords && !repair) throw usage('--without-deleted-records goes with --repair: a verify alone drops nothing.');
    if (data === undefined) return besideTheLiveOnes({ repair, withoutDeleted: withoutDeletedRecords }, json, io);
    if (repair) throw usage(`--repair is for the data plane: \`headwater rebuild --data ${data}\` makes the projections anew.`);
    return inFolder(data, json, io);
  },
});

async function inFolder(data: string, json: boolean, io: Io): Promise<void> {
  const { projectorsOf } = await import('../processors/projectors-of.js');
  const found = await offline(data, ({ verify }) => verify(data, projectorsOf, { onProgress: shownProgress(io) }));
  const { sources, series, rows, events, warnings, unreadable, dropped, differences, inSources } = found;
  await show(found, { sources, series, rows, events, warnings, unreadable, dropped, differences }, json, io);
  io.note(
    `Compared ${counted(rows, 'row')} of ${counted(series, 'series', 'series')} and ${counted(events, 'event')} of ${counted(sources, 'source')}.`,
  );
  for (const warning of warnings) io.note(warning);
  if (unreadable > 0) io.note(`${counted(unreadable, 'record')} of the log cannot be decoded: in no projection.`);
  if (dropped > 0) io.note(`The log has dropped its first ${counted(dropped, 'record')}: nothing is said of what only they said.`);
  if (differences === 0) return;
  const mends = [
    differences > inSources && `\`headwater rebuild --data ${data}\` makes the projections anew`,
    inSources > 0 &&
      `\`headwater replay --data ${data} --group sources --from beginning\` has the next start make the list of sources anew`,
  ];
  throw new Failure(`${counted(differences, 'difference')}: ${mends.filter(Boolean).join(', and ')}.`);
}

interface Mending {
  readonly repair: boolean;
  readonly withoutDeleted: boolean;
}

async function besideTheLiveOnes({ repair, withoutDeleted }: Mending, json: boolean, io: Io): Promise<void> {
  const found = await onDataPlane(({ verifyDataPlane }, config) =>
    verifyDataPlane(
      config,
      repair,
      { told: (line) => io.note(line), lags: (records) => io.progress(() => `${counted(records, 'record')} to go`) },
      { withoutDeleted },
    ),
  );
  const { series, rows, events, changing, unverifiable, complete, differences, repaired } = found;
  await show(found, { series, rows, events, changing, unverifiable, complete, differences, repaired }, json, io);
  io.note(`Compared ${counted(rows, 'row')} of ${counted(series, 'series', 'series')} and ${counted(events, 'event')}.`);
  if (changing > 0) io.note(`${counted(changing, 'row')} kept changing: nothing is said of them.`);
  if (unverifiable > 0)
    io.note(`${counted(unverifiable, 'row')} of the store may come from records that Kafka has deleted: nothing is said of them.`);
  if (!complete) io.note('So much differs that the rest was not compared.');
  if (differences > 0 && !repaired)
    throw new Failure(
      `${counted(differences, 'difference')}: \`headwater verify --repair\` or \`headwater rebuild\` makes the projections anew.`,
    );
  if (repaired) io.note(`${counted(differences, 'difference')}, mended: readers use projections that were made anew.`);
}

async function show({ first }: { readonly first: readonly Difference[] }, counts: object, json: boolean, io: Io): Promise<void> {
  const text = json
    ? `${JSON.stringify({ ...counts, first: first.map(wire) }, null, 2)}\n`
    : first.map((difference) => `${harmless(sentence(difference).replaceAll('\n', ' '))}\n`).join('');
  await io.data(text);
}

function sentence({ what, orgId, sourceId, metric, timestampMs, expected, found }: Difference): string {
  if (what === 'damage') return `damage: ${found}`;
  const where = [orgId, sourceId, metric, timestampMs !== undefined && new Date(timestampMs).toISOString()].filter(Boolean);
  return `${[...where, what].join(' ')}: the log says ${expected}, the store says ${found}`;
}

function wire({ what, orgId, sourceId, metric, timestampMs, expected, found }: Difference): unknown {
  return { what, org_id: orgId, source_id: sourceId, metric, timestamp_ms: timestampMs, expected, found };
}

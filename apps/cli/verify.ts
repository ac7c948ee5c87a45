import type { Difference, Verification } from '#sqlite';
import { command } from './command.js';
import { counted } from './counted.js';
import { dataFlag, offline, shownProgress } from './data-folder.js';
import { Failure } from './failure.js';

export const body = command({
  about:
    'Folds the log by brute force and compares points, rollups at every interval, events, metric names and sources, and looks at every ' +
    'block of the file for damage. Names what differs, a line each; the exit code is 1 when anything does.',
  flags: { data: { ...dataFlag, required: true }, json: { about: 'print counts and differences as JSON' } },
  examples: ['headwater verify --data data', 'headwater verify --data data --json | jq .first'],
  async run({ data, json }, io) {
    const [{ verify }, { processorsOf }] = await Promise.all([import('#sqlite'), import('../processors/processors-of.js')]);
    const found = await offline(data, () => verify(data, processorsOf, { onProgress: shownProgress(io) }));
    await io.data(
      json ? `${JSON.stringify(wire(found), null, 2)}\n` : found.first.map((difference) => `${sentence(difference)}\n`).join(''),
    );
    io.note(
      `Compared ${counted(found.rows, 'row')} of ${counted(found.series, 'series', 'series')} and ${counted(found.events, 'event')} of ${counted(found.sources, 'source')}.`,
    );
    for (const warning of found.warnings) io.note(warning);
    if (found.unreadable > 0) io.note(`${counted(found.unreadable, 'record')} of the log cannot be decoded: in no projection.`);
    if (found.differences > 0)
      throw new Failure(`${counted(found.differences, 'difference')}: \`headwater rebuild --data ${data}\` makes the projections anew.`);
  },
});

function sentence({ what, orgId, sourceId, metric, timestampMs, expected, found }: Difference): string {
  if (what === 'damage') return `damage: ${found.replaceAll('\n', ' ')}`;
  const where = [orgId, sourceId, metric, timestampMs !== undefined && new Date(timestampMs).toISOString()].filter(Boolean);
  return `${[...where, what].join(' ')}: the log says ${expected}, the store says ${found}`;
}

function wire({ sources, series, rows, events, warnings, unreadable, differences, first }: Verification): unknown {
  const named = first.map(({ what, orgId, sourceId, metric, timestampMs, expected, found }) => ({
    what,
    org_id: orgId,
    source_id: sourceId,
    metric,
    timestamp_ms: timestampMs,
    expected,
    found,
  }));
  return { sources, series, rows, events, warnings, unreadable, differences, first: named };
}

import type { Start } from '#log';
import { isoTimeMs } from '#model';
import { command } from './command.js';
import { usage } from './failure.js';
import { dataFlag, withLog } from './target.js';

export const body = command({
  about:
    'Moves the offsets of a group back, in every topic that it reads, while no processor runs; the processors go on from there when they ' +
    'start. Where the group is not that far yet, it stays where it is: nothing is left out. ' +
    'What is read again changes nothing that is right: a projection takes each record as often as it comes. Records that were deleted are not read again. ' +
    'With --data it works on the folder of a stopped server: there, from the beginning, the group also makes what it writes anew, such as the list of ' +
    'sources, unless the log has dropped records (HEADWATER_KEEP_LOG), and the server is ready once that is done.',
  flags: {
    data: dataFlag,
    group: { value: 'GROUP', about: 'name of the group, as `headwater topics` shows it', required: true },
    from: { value: 'FROM', about: '`beginning`, an offset, or a time in ISO 8601 when records were appended', required: true },
  },
  examples: [
    'headwater replay --group sources --from beginning',
    'headwater replay --group series.g1 --from 2026-11-01T00:00Z',
    'headwater replay --data data --group sources --from beginning',
  ],
  async run({ data, group, from }, io) {
    const start = readStart(from);
    const forgets = data !== undefined && start === 'beginning';
    const { topics, cut } = await withLog(data, (ports, { replayGroup }) => replayGroup(ports, group, start, forgets));
    io.note(`The group ${group} goes on from ${from} in ${topics.join(' and ')}, and from where it is where it has not come so far.`);
    if (cut.length > 0) io.note(`Of ${cut.join(' and ')} the first records were deleted: they are not read again.`);
  },
});

function readStart(from: string): Start {
  if (from === 'beginning') return from;
  if (/^\d{1,15}$/.test(from)) return { offset: Number(from) };
  const timestampMs = isoTimeMs(from);
  if (timestampMs === undefined) throw usage(`--from "${from}" is none of beginning, an offset, or a time like 2026-11-01T00:00Z.`);
  return { timestampMs };
}

import { command } from './command.js';
import { Failure, readTime, usage } from './failure.js';
import { dataFlag, offline } from './target.js';
import { counted } from './text.js';

export const body = command({
  about:
    'For the data folder of a stopped server that names of devices have filled: takes all that devices sent out of the log, but for those ' +
    'that --keep names, with little memory. With --since, only what came from that time on. The projections and the list of devices are ' +
    'removed; the next start makes them again from what is left. Without --yes it only counts. What goes is gone: copy the folder first.',
  flags: {
    data: { ...dataFlag, required: true },
    keep: { value: 'PATTERN', about: 'source ids to keep, where * is any text; may be repeated', many: true },
    since: { value: 'TIME', about: 'keep what other devices sent before this time too, in ISO 8601' },
    yes: { about: 'do it' },
    json: { about: 'print what was done as JSON' },
  },
  examples: [
    "headwater trim --data data --keep 'pump-*' --keep press-7",
    "headwater trim --data data --keep 'pump-*' --since 2026-11-01T00:00Z --yes",
  ],
  async run({ data, keep, since, yes, json }, io) {
    if (keep.length === 0 && since === undefined) throw usage('Say what stays: with --keep, with --since, or with both.');
    const sinceMs = readTime('--since', since);
    const keeps = matcher(keep);
    const { gone, kept } = await offline(data, ({ trim }) =>
      trim(data, { keeps, sinceMs, confirmed: yes }, (done, total) => io.progress(() => `Reading the log: ${share(done, total)} %`)),
    );
    if (json) await io.data(`${JSON.stringify({ gone: yes ? gone : 0, would_go: gone, kept })}\n`);
    const which = `${counted(gone, 'record')} and leave ${counted(kept, 'record')}`;
    if (!yes) throw new Failure(`This would take out ${which}: say --yes to do it.`);
    io.note(`Took out ${counted(gone, 'record')} and left ${counted(kept, 'record')}. The next start makes the projections again.`);
  },
});

const share = (done: number, total: number): number => (total > 0 ? Math.floor((Math.max(0, done) / total) * 100) : 100);

/** Whether a source id is one of those that the patterns stand for. */
function matcher(patterns: readonly string[]): (sourceId: string) => boolean {
  const texts = patterns.map((pattern) => pattern.split('*').map(escaped).join('.*'));
  const any = new RegExp(`^(?:${texts.join('|')})$`, 's');
  return (sourceId) => patterns.length > 0 && any.test(sourceId);
}

const escaped = (text: string): string => text.replaceAll(/[^\w]/g, String.raw`\$&`);

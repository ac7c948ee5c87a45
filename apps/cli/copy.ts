import { boundSourcePattern, BoundSources } from '#model';
import { command } from './command.js';
import { CopyRun } from './copy-run.js';
import { CopySide } from './copy-side.js';
import { newCopy, StateFile } from './copy-state.js';
import { Failure, inWords, readTime, usage } from './failure.js';
import { counted } from './text.js';

const notCopied = 'Monitors and alerts, alert targets, keys, people and limits are not copied: make them at the target.';

export const body = command({
  about:
    'Copies points and events of an organization over HTTP, and in the end compares what both servers answer, point by point: 0 says that they ' +
    'answer the same. The target takes them as if the devices sent them now, so define monitors there afterwards. When the copy ends early, the ' +
    'same command goes on where it was; repeating it changes nothing. What comes to the origin after the start is not copied: run it ' +
    'again with --since. Without --until, points of clocks that are ahead are not copied either. Values of events are copied as text, as queries answer them. ' +
    notCopied,
  flags: {
    from: { value: 'URL', about: 'address of the server to read', required: true },
    to: { value: 'URL', about: 'address of the server to write to', required: true },
    fromKey: {
      value: 'KEY',
      about: 'API key of the origin; better HEADWATER_FROM_API_KEY, or HEADWATER_FROM_API_KEY_FILE, which names a file',
    },
    toKey: {
      value: 'KEY',
      about: 'API key of the target, with the scope write; better HEADWATER_TO_API_KEY, or HEADWATER_TO_API_KEY_FILE',
    },
    sources: { value: 'LIST', about: 'only these: ids, or beginnings of ids and `*`, with commas between' },
    since: { value: 'TIME', about: 'from this time on, ISO 8601 (else from the first point)' },
    until: { value: 'TIME', about: 'before this time, ISO 8601 (else the time at which the copy was begun)' },
    state: { value: 'FILE', about: 'keeps how far the copy is, until it is done', default: 'headwater-copy.json' },
    json: { about: 'print what was copied as JSON' },
  },
  examples: [
    'headwater copy --from http://greenhouse:8080 --to https://telemetry.example.com',
    'headwater copy --from http://a:8080 --to http://b:8080 --sources "line-a.*,press-7" --since 2026-01-01',
  ],
  async run(flags, io) {
    const patterns = flags.sources === undefined ? ['*'] : readPatterns(flags.sources);
    const [sinceMs, untilMs] = [readTime('--since', flags.since), readTime('--until', flags.until)];
    const origin = await CopySide.open(
      { name: 'origin', url: flags.from, apiKey: flags.fromKey, flag: '--from-key', variable: 'HEADWATER_FROM_API_KEY' },
      undefined,
      io,
    );
    const target = await CopySide.open(
      { name: 'target', url: flags.to, apiKey: flags.toKey, flag: '--to-key', variable: 'HEADWATER_TO_API_KEY' },
      'write',
      io,
    );
    if (origin.apiKey === target.apiKey || (origin.url === target.url && origin.orgId === target.orgId))
      throw usage('Origin and target are the same organization of the same server: name two.');

    const file = new StateFile(flags.state);
    const begun = { from: `${origin.url} ${origin.orgId}`, to: `${target.url} ${target.orgId}`, sources: patterns };
    const found = await file.read();
    const state = found ?? newCopy({ ...begun, start_ms: sinceMs ?? 0, end_ms: untilMs ?? Date.now() });
    const isSame =
      JSON.stringify([state.from, state.to, state.sources]) === JSON.stringify(Object.values(begun)) &&
      (sinceMs ?? state.start_ms) === state.start_ms &&
      (untilMs ?? state.end_ms) === state.end_ms;
    if (!isSame) throw usage(`${file.path} is of another copy: delete it to give that up, or name another with --state.`);
    if (state.start_ms >= state.end_ms) throw usage('Let --since be before --until, and before now where there is no --until.');

    const wanted = new BoundSources(patterns);
    for (const { text, isPrefix } of wanted.ranges) {
      if (!isPrefix) await origin.ask((headwater) => headwater.source(text).get({ signal: io.interrupted }));
    }
    const run = new CopyRun({ origin, target, file, io, isWanted: (id) => wanted.has(id) }, state);
    const window = `from ${new Date(state.start_ms).toISOString()} to ${new Date(state.end_ms).toISOString()}`;
    io.note(`${found ? 'Goes on copying' : 'Copies'} what is ${window}.`);
    await file.save(state);
    try {
      await run.run();
    } catch (error) {
      const cause = inWords(io.interrupted.aborted ? io.interrupted.reason : error);
      if (!(cause instanceof Failure)) throw cause;
      throw new Failure(`${cause.message}\nSent until then: ${run.sent()}. The same command goes on from there.`, cause.exitCode, {
        cause,
      });
    }
    await file.remove();
    const { points, events, copied: sources, flaws, flawed } = state;
    if (flags.json)
      await io.data(
        `${JSON.stringify({ sources, points, events, differences: flawed, start_ms: state.start_ms, end_ms: state.end_ms })}\n`,
      );
    const done = `Sent ${run.sent()} of ${counted(sources, 'source')}`;
    if (flawed > 0)
      throw new Failure(
        `${done}, but the target does not answer the same as the origin:\n${flaws.join('\n')}${flawed > flaws.length ? '\n…' : ''}`,
      );
    io.note(`${done}; the target answers the same as the origin. ${notCopied}`);
    if (untilMs === undefined) io.note(`For what comes later: --since ${new Date(state.end_ms).toISOString()}`);
  },
});

function readPatterns(text: string): readonly string[] {
  const patterns = text.split(',').map((pattern) => pattern.trim());
  const wrong = patterns.find((pattern) => !boundSourcePattern.test(pattern));
  if (wrong === undefined) return patterns;
  throw usage(`--sources: "${wrong}" is neither a source id nor the beginning of one and *.`);
}

import { checkSourceId, maxCommandNameChars } from '#model';
import { command } from './command.js';
import { connect, connectionFlags } from './connection.js';
import { flagged, usage } from './failure.js';

export const body = command({
  about:
    'The device gets the command once, on its newest connection, or never. Without --wait the command prints its id to stdout as soon as the ' +
    'device has been handed it. With --wait it prints the result of the device as JSON, or the error of the device to stderr. It fails when ' +
    'the device is not connected, answers with an error, or does not answer in time.',
  argument: { name: 'SOURCE', about: 'the device' },
  secondArgument: { name: 'NAME', about: 'what the device shall do' },
  flags: {
    ...connectionFlags,
    params: { value: 'JSON', about: 'an object that is handed to the device', default: '{}' },
    wait: { about: 'wait until the device says how it ended' },
    timeout: { value: 'SECONDS', about: 'how long to wait', default: '30' },
  },
  examples: [
    'headwater command press-7 reboot',
    `headwater command press-7 set_speed --params '{"rpm": 900}' --wait`,
    'headwater command press-7 self_test --wait --timeout 120 > report.json',
  ],
  async run(flags, io, source, name) {
    const sourceId = flagged('SOURCE', source, checkSourceId);
    if (name === '' || name.length > maxCommandNameChars) throw usage(`Give a NAME of 1 to ${maxCommandNameChars} characters.`);
    const params = readParams(flags.params);
    const timeoutMs = readSeconds(flags.timeout) * 1000;
    const { headwater } = await connect(flags, io);
    const waiting = flags.wait && { signal: io.interrupted, onAcknowledged: () => io.progress(() => 'Waiting for the result') };
    if (waiting) io.progress(() => 'Waiting for an answer');
    const { id, result } = await headwater.source(sourceId).command(name, params, { wait: flags.wait, timeoutMs, ...waiting });
    await io.data(`${flags.wait ? said(result) : id}\n`);
  },
});

/** A device that answers with nothing has `null` as its result. */
const said = (value: unknown): string => (value === undefined ? 'null' : JSON.stringify(value));

function readParams(text: string): object {
  try {
    const params: unknown = JSON.parse(text);
    if (typeof params === 'object' && params !== null && !Array.isArray(params)) return params;
  } catch {
    // What is no JSON is no object either.
  }
  throw usage(`--params '${text}': give a JSON object, such as '{"rpm": 900}'.`);
}

function readSeconds(text: string): number {
  if (/^\d{1,6}$/.test(text) && Number(text) > 0) return Number(text);
  throw usage(`--timeout "${text}": give whole seconds, 1 or more.`);
}

import { setTimeout as sleep } from 'node:timers/promises';
import { checkSourceId, maxCommandNameChars } from '#model';
import { Api } from './api.js';
import { command } from './command.js';
import { connectionFlags, findConnection } from './connection.js';
import { Failure, flagged, usage } from './failure.js';
import type { Io } from './io.js';
import { PatientApi } from './patient-api.js';

const lookEveryMs = 200;
/** So many of the newest outcomes are searched for the one of this command. */
const looked = 1000;

/** As `command.result` holds it. */
interface Outcome {
  readonly id: string;
  readonly event: 'ack' | 'result' | 'error';
  readonly result?: unknown;
  readonly error?: unknown;
}

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
    const sent = { command: name, params: readParams(flags.params) };
    const timeoutMs = readSeconds(flags.timeout) * 1000;
    const api = new Api(await findConnection(flags));
    const path = `/v1/sources/${encodeURIComponent(sourceId)}`;
    const answer = await api.request(`${path}/commands`, { method: 'POST', body: JSON.stringify(sent) });
    const { queued, id } = answer as { queued: boolean; id: string };
    if (!queued)
      throw new Failure(`"${sourceId}" did not get the command: it is not connected, or has 64 commands that it has not answered.`);
    if (!flags.wait) return io.data(`${id}\n`);
    const outcome = await outcomeOf(new PatientApi(api, io), io, `${path}/logs?name=command.result&tail=${looked}`, id, timeoutMs);
    if (outcome.event === 'error') throw new Failure(`The device answered with an error: ${said(outcome.error)}`);
    await io.data(`${said(outcome.result)}\n`);
  },
});

/** How the command ended. Rejects `Failure` when that is not known in time. */
async function outcomeOf(api: PatientApi, io: Io, path: string, id: string, timeoutMs: number): Promise<Outcome> {
  const endMs = performance.now() + timeoutMs;
  for (let isAcknowledged = false; ;) {
    const entries = (await api.request(path)) as readonly { readonly value: string }[];
    const ours = entries.map(({ value }) => outcomeIn(value)).filter((outcome) => outcome?.id === id);
    const end = ours.find((outcome) => outcome?.event !== 'ack');
    if (end) return end;
    isAcknowledged ||= ours.length > 0;
    if (performance.now() >= endMs) {
      const sofar = isAcknowledged ? 'The device has the command and has not said how it ended' : 'The device has not answered the command';
      throw new Failure(`${sofar}, within ${timeoutMs / 1000} s. Its answer will be among its logs as command.result with the id ${id}.`);
    }
    io.progress(() => `Waiting for ${isAcknowledged ? 'the result' : 'an answer'}`);
    await sleep(lookEveryMs, undefined, { signal: io.interrupted });
  }
}

/** Null for an event of the same name that the device has sent by itself, and that is none. */
function outcomeIn(value: string): Outcome | null {
  try {
    return JSON.parse(value) as Outcome | null;
  } catch {
    return null;
  }
}

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

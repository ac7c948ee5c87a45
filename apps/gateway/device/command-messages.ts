import { commandIdPattern, TelemetryError } from '#model';
import type { CommandReport } from '../commands/command-reports.js';

type Fields = Readonly<Record<string, unknown>>;

/** A status that the device sends again until it is acknowledged. */
export interface StatusAck {
  readonly run_id: string;
  readonly seq: number;
}

export type Said = Pick<CommandReport, 'id' | 'command' | 'event' | 'result' | 'error'> & { readonly ack?: StatusAck };

/** Of one `command_sync`. */
export const maxRuns = 1024;

const readers = { command_result: resultIn, command_status: statusIn, command_sync: syncIn };

/** Messages in which devices speak of commands. */
export const isMessage = (type: unknown): type is keyof typeof readers => typeof type === 'string' && Object.hasOwn(readers, type);

/** What a message says of commands. @throws TelemetryError `invalid_body`. */
export const reportsIn = (type: keyof typeof readers, fields: Fields): readonly Said[] => readers[type](fields);

export const statusAckText = ({ run_id, seq }: StatusAck): string => JSON.stringify({ type: 'command_status_ack', run_id, seq });

export const resultEvents = ['ack', 'result', 'error'] as const;
const events: ReadonlySet<unknown> = new Set(resultEvents);

function resultIn({ id, command, event, result, error }: Fields): Said[] {
  if (!events.has(event)) throw invalid('Give command_result an event that is ack, result or error.');
  return [
    {
      id: commandId(id, 'id'),
      event: event as Said['event'],
      ...(typeof command === 'string' && { command }),
      ...(result !== undefined && { result }),
      ...(error !== undefined && { error }),
    },
  ];
}

/** What a state says beyond that the device has the command. */
const eventOfState = { acknowledged: 'ack', running: 'status', progress: 'status', succeeded: 'result', failed: 'error' } as const;
const eventOf: ReadonlyMap<unknown, Said['event']> = new Map(Object.entries(eventOfState));
export const runStates = Object.keys(eventOfState) as (keyof typeof eventOfState)[];

function statusIn({ run_id, seq, state, result, error_code: code, error_message: message }: Fields): Said[] {
  const id = commandId(run_id, 'run_id');
  const event = eventOf.get(state);
  if (!event) throw invalid('Give command_status a state that is acknowledged, running, progress, succeeded or failed.');
  if (!Number.isSafeInteger(seq)) throw invalid('Give command_status a whole number as seq.');
  const error = [code, message].filter((text) => typeof text === 'string' && text !== '').join(': ');
  return [
    {
      id,
      event,
      ...(event === 'result' && result !== undefined && { result }),
      ...(event === 'error' && { error }),
      ack: { run_id: id, seq: seq as number },
    },
  ];
}

/** The device sends the outcome of a run again until it is acknowledged, so that here it need only be known to have the command. */
function syncIn({ runs }: Fields): Said[] {
  if (!Array.isArray(runs) || runs.length > maxRuns) throw invalid(`Give command_sync a list of at most ${maxRuns} runs.`);
  return runs.map((run: unknown) => ({ id: commandId((run as { run_id?: unknown } | null)?.run_id, 'run_id'), event: 'status' }));
}

function commandId(value: unknown, name: string): string {
  if (typeof value === 'string' && commandIdPattern.test(value)) return value;
  throw invalid(`Send the ${name} of a command as it came.`);
}

const invalid = (detail: string): TelemetryError => new TelemetryError('invalid_body', detail);

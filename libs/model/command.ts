import { flawOfSource } from './batch-flaws.js';
import { maxEventValueBytes } from './event-value.js';
import { fitsUtf8 } from './names.js';
import { type EventBatch, noTags } from './point.js';
import { maxTimestampMs } from './timestamp.js';

export const commandIdPattern = /^[A-Za-z0-9_-]{1,30}$/;
export const maxCommandNameChars = 128;
/** Parameters as JSON in UTF-8. */
export const maxParamsBytes = 64 * 1024;

/** Asks a device to do something, on the one connection of it that was the newest when the command was sent. */
export interface Command {
  readonly orgId: string;
  readonly sourceId: string;
  /** As `newCommandId` makes it. */
  readonly commandId: string;
  readonly connectionId: string;
  /** The gateway that holds the connection. */
  readonly gatewayId: string;
  /** What to do. */
  readonly name: string;
  /** A JSON object. */
  readonly params: string;
  /** Unix milliseconds. */
  readonly sentMs: number;
}

/** A command that was handed to its device, until the device has said how it ended. */
export interface CommandState {
  readonly orgId: string;
  readonly sourceId: string;
  readonly commandId: string;
  readonly name: string;
  /** Unix milliseconds. */
  readonly sentMs: number;
  /** Whether the device has said that it has the command. */
  readonly isAcknowledged: boolean;
}

/** What a device says of a command: `ack` that it has it, `status` that it works on it, `result` and `error` how it ended. */
export type ReportKind = 'ack' | 'status' | 'result' | 'error';

const timeDigits = 9;

/** 25 of `A-Z a-z 0-9 _ -`. Of two commands that were sent in different milliseconds, the later one has the greater id. */
export function newCommandId(sentMs: number, random: Uint8Array<ArrayBuffer>): string {
  return sentMs.toString(36).padStart(timeDigits, '0') + Buffer.from(random.subarray(0, 12)).toString('base64url');
}

/** What is wrong with the record of a command or its state, in words for the operator; undefined if nothing is. */
export function flawOfCommand(of: Pick<Command, 'orgId' | 'sourceId' | 'commandId' | 'sentMs'>): string | undefined {
  if (!commandIdPattern.test(of.commandId)) return 'the command id is not one';
  if (!Number.isInteger(of.sentMs) || of.sentMs <= 0 || of.sentMs > maxTimestampMs) return 'the sending time is not one';
  return flawOfSource(of);
}

interface ReportedOutcome {
  readonly event: ReportKind;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** What follows from a report of the device that the command was for. */
interface Reported {
  /** Whether the report is kept as an event. */
  readonly isOutcome: boolean;
  /** Null when the command has ended. */
  readonly state: CommandState | null;
}

/** Undefined when the report says nothing new: then it has been kept before. */
export function afterReport(state: CommandState, report: ReportKind): Reported | undefined {
  if (report === 'result' || report === 'error') return { isOutcome: true, state: null };
  return state.isAcknowledged ? undefined : { isOutcome: report === 'ack', state: { ...state, isAcknowledged: true } };
}

/** The event that is kept of a report. It stands at the sending time of its command, so that the same report is one event however often it comes. */
export function outcomeOf(
  { orgId, sourceId, commandId, name, sentMs }: CommandState,
  report: ReportedOutcome,
  receivedMs: number,
): EventBatch {
  const head = { id: commandId, command: name, event: report.event };
  const whole = JSON.stringify({ ...head, result: report.result, error: report.error });
  const value = fitsUtf8(whole, maxEventValueBytes) ? whole : JSON.stringify({ ...head, error: tooLong });
  const event = { metric: 'command.result', timestampMs: sentMs, value, isJson: true, tags: noTags, place: 0, ordinal: 0 };
  return { orgId, sourceId, receivedMs, origin: 'service', events: [event] };
}

const tooLong = `What the device answered has more than ${maxEventValueBytes} bytes with this event, and was left out.`;

import { closeBrace, openBrace } from './json-bytes.js';
import { JsonPasser, notJson } from './json-passer.js';
import { parseJson } from './json.js';
import { fieldAt, type Span } from './sent-body.js';

/** What a frame of the device channel says of itself. */
export interface DeviceFrame {
  readonly type: unknown;
  /** Its number on the connection; undefined when it has none, as what is said of commands, whose `seq` is of something else. */
  readonly seq: number | undefined;
  /** What it says; undefined of telemetry that is not in memory as an object, and of everything beyond `maxMessageBytes`. */
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

/** A frame with more is telemetry, or nothing that a device has to say. */
export const maxMessageBytes = 256 * 1024;

const headBytes = 512;
const tailBytes = 64;
/** So clients begin their telemetry: then nothing else has to be known of it. */
const usualHead = /^\{\s*"type"\s*:\s*"telemetry"\s*,\s*(?:"seq"\s*:\s*(\d{1,15})\s*,\s*)?"points"\s*:/;
/** A `seq` right before the closing brace of the whole frame: it cannot be that of a point. */
const usualTail = /[^\\]"seq"\s*:\s*(\d{1,15})\s*\}\s*$/;

const wanted: readonly Buffer[] = [Buffer.from('type'), Buffer.from('seq')];

/**
 * Reads what a frame says of itself, in steps. The points of telemetry are not looked at.
 *
 * @param bytes valid UTF-8.
 * @throws TelemetryError `invalid_json`, `json_too_deep`.
 */
export function* readFrame(bytes: Buffer): Generator<void, DeviceFrame> {
  const head = usualHead.exec(bytes.toString('latin1', 0, headBytes));
  if (head) {
    const seq = head[1] ?? usualTail.exec(bytes.toString('latin1', Math.max(0, bytes.length - tailBytes)))?.[1];
    if (seq !== undefined || !bytes.includes('"seq"')) return { type: 'telemetry', seq: seqOf(Number(seq)), fields: undefined };
  }
  if (bytes.length > maxMessageBytes) return yield* passFrame(bytes);
  const json = parseJson(bytes);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return { type: undefined, seq: undefined, fields: undefined };
  const fields = json as Record<string, unknown>;
  return { ...saidBy(fields['type'], fields['seq']), fields };
}

/** The number of a frame that is not JSON, as far as its head tells. */
export function seqInText(bytes: Buffer): number | undefined {
  const [head] = bytes.toString('latin1', 0, headBytes).split('"points"', 1);
  if (/"type"\s*:\s*"command_/.test(head!)) return undefined;
  return seqOf(Number(/"seq"\s*:\s*(\d{1,15})\b/.exec(head!)?.[1]));
}

const saidBy = (type: unknown, seq: unknown): Pick<DeviceFrame, 'type' | 'seq'> => ({
  type,
  seq: typeof type === 'string' && type.startsWith('command_') ? undefined : seqOf(seq),
});

const seqOf = (seq: unknown): number | undefined => (Number.isSafeInteger(seq) && (seq as number) > 0 ? (seq as number) : undefined);

/** Passes a whole frame and makes nothing of it but what it says of itself. */
function* passFrame(bytes: Buffer): Generator<void, DeviceFrame> {
  const json = new JsonPasser(bytes);
  const spans: (Span | undefined)[] = [];
  if (json.peek() !== openBrace) {
    if (!json.scalar()) yield* json.nested(0);
  } else {
    for (let more = json.begins(closeBrace); more; more = json.goesOn(closeBrace)) {
      const name = fieldAt(json, wanted);
      json.peek();
      const start = json.at;
      if (json.scalar()) {
        if (name >= 0) spans[name] = [start, json.at];
      } else yield* json.nested(1);
      if (json.isDue) yield;
    }
  }
  if (json.peek() !== undefined) throw notJson();
  const [type, seq] = [0, 1].map((at) => spans[at] && JSON.parse(bytes.toString('utf8', ...spans[at])));
  return { ...saidBy(type, seq), fields: undefined };
}

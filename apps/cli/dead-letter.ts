import type { AnyTopic } from '#log';
import { tagsOf } from '#model';
import { topics } from '#topics';
import { usage } from './failure.js';
import { oneLine } from './text.js';

/** What a command shows of a dead letter. */
export interface DeadLetter {
  readonly offset: number;
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly value: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly parkedMs: number;
}

const dlq = '.dlq';
const hexBytes = 64;
const valueLength = 2000;
const units = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
] as const;

/** A topic by its own name or that of its dead letters. */
export function readTopicName(given: string): AnyTopic {
  const name = given.endsWith(dlq) ? given.slice(0, -dlq.length) : given;
  const topic = topics.find((it) => it.name === name);
  if (topic) return topic;
  throw usage(`There is no topic "${given}": use one of ${topics.map((it) => it.name).join(', ')}.`);
}

/** As JSON: `offset` is the offset of the letter, `from` the place of its record. */
export function asJson({ offset, key, bytes, value, headers, parkedMs }: DeadLetter): object {
  return {
    offset,
    parked: new Date(parkedMs).toISOString(),
    from: { topic: headers['topic'], partition: number(headers['partition']), offset: number(headers['offset']) },
    group: headers['group'],
    reason: headers['reason'],
    attempts: number(headers['attempts']),
    key,
    bytes: bytes.length,
    ...(value === undefined ? { hex: hex(bytes) } : { value: plain(value) }),
  };
}

/** For a person, a field a line. */
export function asText(letter: DeadLetter, nowMs: number): string {
  const { offset, key, bytes, value, headers, parkedMs } = letter;
  const rows = [
    ['offset', `${offset}`],
    ['parked', `${new Date(parkedMs).toISOString()}, ${age(nowMs - parkedMs)} ago`],
    ['from', `${headers['topic'] ?? '?'}, partition ${headers['partition'] ?? '?'}, offset ${headers['offset'] ?? '?'}`],
    ['group', headers['group'] ?? '?'],
    ['reason', headers['reason'] ?? '?'],
    ['tried', tried(headers['attempts'])],
    ['key', key],
    ['size', `${bytes.length} bytes`],
    value === undefined
      ? ['hex', bytes.length > hexBytes ? `${hex(bytes)}…` : hex(bytes)]
      : ['value', shortened(JSON.stringify(plain(value)))],
  ];
  return rows.map(([name, text]) => `${name!.padEnd(8)}${oneLine(text!)}\n`).join('');
}

/** How long something is ago, in the largest unit that fits. */
export function age(ms: number): string {
  const [unitMs, name] = units.find(([size]) => ms >= size) ?? units.at(-1)!;
  return `${Math.max(0, Math.floor(ms / unitMs))} ${name}`;
}

const tried = (attempts: string | undefined): string => (attempts === undefined ? '?' : attempts === '1' ? 'once' : `${attempts} times`);
const shortened = (text: string): string => (text.length > valueLength ? `${text.slice(0, valueLength)}… (--json shows all)` : text);
const number = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).subarray(0, hexBytes).toString('hex');

/** The value with typed arrays as plain arrays and tags by their names, for JSON. */
function plain(value: unknown, field = ''): unknown {
  if (field === 'tags' && typeof value === 'string') return tagsOf(value);
  if (ArrayBuffer.isView(value)) return Array.from(value as Float64Array);
  if (Array.isArray(value)) return value.map((item) => plain(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, it]) => [name, plain(it, name)]));
}

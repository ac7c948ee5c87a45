import { gzipSync } from 'node:zlib';

/** A legal body that costs more than its size or its points say. */
export interface HostileBody {
  readonly name: string;
  readonly gzip: boolean;
  /** @param round no name in it comes in another round. */
  readonly text: (round: number) => string;
}

const maxBytes = 5 * 1024 * 1024;
const maxPoints = 10_000;

const times = (count: number, item: (at: number) => string): string => Array.from({ length: count }, (_, at) => item(at)).join();
const body = (points: string): string => `{"source_id":"hostile","points":[${points}]}`;
/** So many items of these bytes, with commas between them, as fit into a body. */
const fill = (item: string, bytes = maxBytes - 100): string => times(Math.floor(bytes / (item.length + 1)), () => item);

/** The plain body with which the others are compared: as many points, one source, twenty metrics. */
export const plainBody: HostileBody = {
  name: 'plain points',
  gzip: false,
  text: (round) =>
    body(times(maxPoints, (at) => `{"metric":"m.${at % 20}","value":${at / 8},"timestamp":${1_700_000_000_000 + round * 1e6 + at}}`)),
};

export const hostileBodies: readonly HostileBody[] = [
  {
    name: '16 distinct tags a point',
    gzip: false,
    text: (round) =>
      body(
        times(maxPoints, (at) => {
          const tags = times(16, (tag) => `"tag-${tag}":"${round}-${at}-${tag}-abc"`);
          return `{"metric":"m","value":1,"tags":{${tags}}}`;
        }),
      ),
  },
  {
    name: '16 distinct tag names a point',
    gzip: false,
    text: (round) =>
      body(
        times(maxPoints, (at) => {
          const tags = times(16, (tag) => `"t${round}-${at}-${tag}":"abc"`);
          return `{"metric":"m","value":1,"tags":{${tags}}}`;
        }),
      ),
  },
  {
    name: 'distinct sources and metrics',
    gzip: false,
    text: (round) => body(times(maxPoints, (at) => `{"source_id":"s-${round}-${at}","metric":"m.${round}.${at}","value":1}`)),
  },
  {
    name: 'distinct sources of events',
    gzip: false,
    text: (round) => body(times(maxPoints, (at) => `{"source_id":"e-${round}-${at}","metric":"e","class":"event","value":{"at":${at}}}`)),
  },
  {
    name: 'a field that comes again 400,000 times',
    gzip: true,
    text: () => body(`{${fill('"metric":"m"')},"value":1}`),
  },
  {
    name: 'a tag that comes again 600,000 times',
    gzip: true,
    text: () => body(`{"metric":"m","value":1,"tags":{${fill('"a":"b"')}}}`),
  },
  {
    name: 'events of numbers that are slow to read',
    gzip: true,
    text: () => body(times(maxPoints, () => `{"metric":"e","class":"event","value":[${fill('1e-300', 460)}]}`)),
  },
  {
    name: 'events with a blank behind each digit',
    gzip: true,
    text: () => body(times(maxPoints, () => `{"metric":"e","class":"event","value":[${fill('1 ', 460)}]}`)),
  },
  {
    name: 'numbers with 400 digits',
    gzip: true,
    text: () => body(times(maxPoints, (at) => `{"metric":"m","value":0.${'123456789'.repeat(45)}${at}}`)),
  },
  {
    name: 'tags, and an escape in the last name',
    gzip: true,
    text: (round) =>
      body(
        times(maxPoints, (at) => {
          const tags = times(16, (tag) => `"tag-${tag}":"${round}+${at}-${tag}-abc"`);
          return `{"metric":"m${at === maxPoints - 1 ? '\\u0065' : ''}","value":1,"tags":{${tags}}}`;
        }),
      ),
  },
];

export function bytesOf({ gzip, name, text }: HostileBody, round: number): Buffer {
  const bytes = Buffer.from(text(round));
  if (bytes.length > maxBytes) throw new Error(`the body ${name} is larger than a body may be`);
  return gzip ? gzipSync(bytes) : bytes;
}

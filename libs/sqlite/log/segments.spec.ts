import { appendFileSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Random } from '#testing';
import { rowChecksum } from '../checksum.js';
import { encodedEntry, readFrame, type StoredFrames } from './frame.js';
import { Journal } from './journal.js';
import { filesIn } from './log-folder.js';
import { LogState } from './log-state.js';
import { Segments, type Found } from './segments.js';
import { Witness, witnessFileName } from './witness.js';

const hourMs = 3_600_000;
const topics = { points: 'delete', events: 'delete', 'events.dlq': 'delete', sources: 'compact', keys: 'compact' } as const;
type TopicName = keyof typeof topics;
const names = Object.keys(topics) as TopicName[];
const kept = names.filter((name) => topics[name] === 'delete');
const compacted = names.filter((name) => topics[name] === 'compact');

/** What a test appends; no value is a tombstone. */
interface Sent {
  readonly topic: TopicName;
  readonly key: string;
  readonly value: string | null;
}

interface Stored extends Sent {
  readonly offset: number;
  readonly ms: number;
}

/** The files of one log. */
class Subject {
  segments!: Segments;
  witness!: Witness;
  journal!: Journal;
  found!: Found;

  private constructor(
    readonly folder: string,
    private readonly maxBytes: number,
    private readonly maxAgeMs: number,
  ) {}

  static async make(maxBytes: number, maxAgeMs = Infinity): Promise<Subject> {
    const subject = new Subject(mkdtempSync(join(tmpdir(), 'headwater-segments-')), maxBytes, maxAgeMs);
    await subject.open();
    return subject;
  }

  async open(): Promise<void> {
    const { folder, maxBytes, maxAgeMs } = this;
    this.witness = new Witness(join(folder, witnessFileName));
    this.segments = new Segments(folder);
    this.found = this.segments.recover(this.witness.head());
    this.journal = await Journal.open({ folder, witness: this.witness, maxBytes, maxAgeMs }, this.found);
    this.journal.onBegun = (first) => this.segments.begun(first);
  }

  async append(sent: readonly Sent[], ms = 0): Promise<void> {
    const of = (all: readonly TopicName[]) =>
      sent
        .filter(({ topic }) => all.includes(topic))
        .map(({ topic, key, value }) =>
          encodedEntry({ name: topic, partitions: 4, cleanup: topics[topic] }, key, {}, value === null ? null : Buffer.from(value)),
        );
    await this.journal.append({ ms, kept: of(kept), compacted: of(compacted) });
  }

  async close(): Promise<void> {
    await this.journal.close();
    this.witness.close();
  }

  tidy(nowMs = 0): void {
    while (this.segments.tidy(nowMs));
  }

  /** Where the log begins, as far as that is durable. */
  get begins(): number {
    return this.journal.state.begins;
  }

  /** Drops what is before an offset at which a file begins, and ends after some of the steps of that. */
  async drop(begins: number, steps: 'newest' | 'noted' | 'partly' | 'all'): Promise<void> {
    while (this.segments.tidy(0, begins));
    if (steps === 'newest') return;
    await this.journal.append({ ms: 0, kept: [], compacted: [], begins });
    if (steps === 'noted') return;
    if (steps === 'partly') rmSync(this.files('sealed')[0]!);
    else this.segments.drop(begins);
  }

  /** What a reader of some topics gets from an offset on. */
  read(from: number, its: readonly TopicName[], to = this.journal.head): Stored[] {
    const all: Stored[] = [];
    const request = { to, kept: its.filter((name) => kept.includes(name)), compacted: its.filter((name) => compacted.includes(name)) };
    for (let at = from; at < to;) {
      const { frames, next }: StoredFrames = this.segments.read({ from: at, ...request });
      for (const { offset, ms, frame } of frames) {
        const { topic, key, value } = readFrame(Buffer.from(frame), 0);
        all.push({ offset, ms, topic: topic as TopicName, key, value: value && Buffer.from(value).toString() });
      }
      expect(next).toBeGreaterThan(at);
      at = next;
    }
    return all;
  }

  files(kind: string): string[] {
    return filesIn(this.folder).flatMap((file) => (file.kind === kind ? [file.path] : []));
  }
}

const newestOf = (records: readonly Stored[]): Map<string, Stored> => new Map(records.map((one) => [`${one.topic} ${one.key}`, one]));

/** Puts something else behind the newest journal's last commit, as a crash may leave it. */
function tear(subject: Subject, random: Random): void {
  const newest = subject.files('journal').at(-1);
  if (!newest) return;
  const { size } = subject.found.journal ?? { size: statSync(newest).size };
  const whole = readFileSync(newest);
  const rest = Buffer.from(Array.from({ length: random.whole(1, 300) }, () => random.whole(0, 255)));
  // The beginning of a commit that is in the file, or anything.
  appendFileSync(
    newest,
    random.chance(0.5) ? whole.subarray(12, 12 + random.whole(1, Math.max(1, Math.min(size, whole.length) - 12))) : rest,
  );
}

describe('the files of a log', () => {
  it.each(Array.from({ length: 24 }, (_, seed) => seed))(
    'have what was appended, whatever is sealed and compacted, seed %i',
    async (seed) => {
      const random = new Random(seed);
      const subject = await Subject.make(random.pick([700, 3_000, 100_000]), random.pick([20, 100, Infinity]));
      const model: Stored[] = [];
      const state = new LogState();
      let ms = 1;
      let begins = 0;
      for (let step = 0; step < 80; step++) {
        ms += random.whole(0, 5);
        const what = random.whole(0, 19);
        if (what < 12) {
          const sent = Array.from({ length: random.whole(1, 6) }, (): Sent => {
            const topic = random.pick(names);
            const value = random.chance(0.03) ? 'x'.repeat(400_000) : `${step} ${'y'.repeat(random.whole(0, 60))}`;
            return { topic, key: `k${random.whole(0, 7)}`, value: topics[topic] === 'compact' && random.chance(0.2) ? null : value };
          });
          const ordered = [...sent.filter(({ topic }) => kept.includes(topic)), ...sent.filter(({ topic }) => compacted.includes(topic))];
          const first = subject.journal.head;
          await subject.append(sent, ms);
          model.push(...ordered.map((one, n) => ({ ...one, offset: first + n, ms })));
        } else if (what < 14) {
          const change = { positions: [{ group: 'g', topic: 'points', partition: random.whole(0, 3), next: random.whole(0, 50) }] };
          const rewound = random.chance(0.2) ? [{ group: 'g', to: random.whole(0, 20) }] : [];
          await subject.journal.append({ ms, kept: [], compacted: [], ...change, rewound });
          state.apply({ ...change, rewound });
        } else if (what < 17) {
          for (let steps = random.whole(0, 5); steps > 0 && subject.segments.tidy(ms); steps--);
        } else if (what === 17) {
          subject.tidy(ms);
          const aged = subject.segments.aged(ms - random.whole(0, 100)).filter(({ end }) => end > begins);
          if (aged.length > 0) {
            const to = random.pick(aged).end;
            const steps = random.pick(['newest', 'noted', 'partly', 'all'] as const);
            await subject.drop(to, steps);
            if (steps !== 'newest') begins = to;
            // Only a start goes on where a drop has ended.
            if (steps === 'partly') {
              await subject.close();
              await subject.open();
            }
          }
        } else {
          await subject.close();
          if (random.chance(0.5)) tear(subject, random);
          await subject.open();
        }
      }
      const head = subject.journal.head;
      expect([head, subject.begins]).toEqual([model.length, begins]);
      subject.segments.drop(begins);
      const isThere = ({ offset }: Stored): boolean => offset >= begins;
      expect(subject.journal.state.positions('g').toSorted((a, b) => a.partition - b.partition)).toEqual(
        state.positions('g').toSorted((a, b) => a.partition - b.partition),
      );
      for (let n = 0; n < 20; n++) {
        const [from, its] = [random.whole(0, head), names.filter(() => random.chance(0.6))];
        const expected = model.filter(({ offset, topic }) => offset >= from && its.includes(topic));
        const found = subject.read(from, its);
        const isKept = ({ topic }: Stored): boolean => kept.includes(topic);
        expect(found.filter(isKept)).toEqual(expected.filter(isKept).filter(isThere));
        expect(found).toEqual(found.toSorted((a, b) => a.offset - b.offset));
        expect(model).toEqual(expect.arrayContaining(found));
        expect([...newestOf(found).values()].filter((one) => !isKept(one)).toSorted((a, b) => a.offset - b.offset)).toEqual(
          [...newestOf(expected).values()].filter((one) => !isKept(one)).toSorted((a, b) => a.offset - b.offset),
        );
        const topic = random.pick(kept);
        expect(subject.segments.count(topic, from, head)).toBe(
          model.filter((one) => one.offset >= from && one.topic === topic && isThere(one)).length,
        );
        const sinceMs = random.whole(0, ms + 1);
        const since = subject.segments.since(sinceMs, head);
        const later = model.filter((one) => one.ms >= sinceMs);
        expect(since).toBeGreaterThanOrEqual(later[0]?.offset ?? head);
        expect(since).toBeLessThanOrEqual(later.filter(isThere).find(isKept)?.offset ?? head);
      }
      await subject.close();
    },
  );

  it('lose what a crash left unfinished, and what it left twice', async () => {
    const subject = await Subject.make(1);
    for (let n = 0; n < 3; n++) await subject.append([{ topic: 'points', key: 'k', value: `${n}` }]);
    await subject.close();
    const [first] = subject.files('journal');
    copyFileSync(first!, `${first!}.copy`);
    subject.tidy();
    copyFileSync(`${first!}.copy`, first!);
    writeFileSync(`${subject.files('sealed')[0]!}.new`, 'half of it');
    await subject.open();
    expect([existsSync(first!), existsSync(`${subject.files('sealed')[0]!}.new`)]).toEqual([false, false]);
    expect(subject.read(0, ['points']).map(({ value }) => value)).toEqual(['0', '1', '2']);
    await subject.close();
  });

  it('are read without the blocks that have nothing of what is wanted', async () => {
    const subject = await Subject.make(1_500_000);
    for (let n = 0; n < 3; n++) await subject.append([{ topic: 'points', key: 'k', value: `${n}`.repeat(600_000) }]);
    await subject.append([{ topic: 'events.dlq', key: 'letter', value: 'of it' }]);
    await subject.append([{ topic: 'points', key: 'k', value: 'more' }]);
    subject.tidy();
    const [sealed] = subject.files('sealed');
    const bytes = readFileSync(sealed!);
    writeFileSync(sealed!, bytes.fill('?', 20, 22));
    expect(subject.read(0, ['events.dlq']).map(({ key }) => key)).toEqual(['letter']);
    expect(subject.segments.count('events.dlq', 0, subject.journal.head)).toBe(1);
    expect(() => subject.read(0, ['points'])).toThrow('the block with offsets from 0 to 1 fails its checksum');
    await subject.close();
  });

  it.each([
    ['23 hours', 23, ['b', 'a', 'c']],
    ['25 hours', 25, ['b', 'c']],
  ] as const)('have the tombstones of keys in their newest values for a day: after %s', async (_, hours, keys) => {
    const subject = await Subject.make(1);
    const of = (key: string, value: string | null): Sent => ({ topic: 'sources', key, value });
    await subject.append([of('a', '1'), of('b', '1')]);
    await subject.append([of('a', null)]);
    await subject.append([of('c', '1')]);
    // Newest values are written after so many segments.
    for (let n = 0; n < 70; n++) await subject.append([{ topic: 'points', key: 'k', value: '' }]);
    subject.tidy(hours * hourMs);
    expect(subject.files('newest')).toHaveLength(1);
    expect(subject.read(0, ['sources']).map(({ key }) => key)).toEqual(keys);
    await subject.close();
  });

  /** Five files with a record each, and the newest values where the first two were dropped. */
  const five = async (begins: number): Promise<Subject> => {
    const subject = await Subject.make(1);
    for (let n = 0; n < 5; n++) await subject.append([{ topic: n === 0 ? 'keys' : 'points', key: 'k', value: `${n}` }]);
    subject.tidy();
    if (begins > 0) await subject.drop(begins, 'all');
    await subject.close();
    return subject;
  };
  const named = (subject: Subject): string[] => filesIn(subject.folder).map(({ path }) => basename(path).replace(/^0+(?=\d)/, ''));

  it.each([
    [0, ['0.sealed', '1.sealed', '2.sealed', '3.sealed', '4.journal']],
    [2, ['2.sealed', '3.sealed', '4.journal', '4.newest', '5.journal']],
  ] as const)('are missed when any of them is away, in a log that begins at %i', async (begins, files) => {
    expect(named(await five(begins))).toEqual(files);
    for (const gone of files.keys()) {
      const subject = await five(begins);
      rmSync(filesIn(subject.folder)[gone]!.path);
      const read = async (): Promise<Stored[]> => {
        await subject.open();
        return subject.read(0, ['points']);
      };
      await expect(read()).rejects.toMatchObject({ code: 'log_corrupt' });
    }
  });

  it.each([
    ['newest', 0],
    ['noted', 2],
    ['partly', 2],
    ['all', 2],
  ] as const)('are dropped whole or not at all when a crash comes after a step of that: %s', async (steps, begins) => {
    const subject = await five(0);
    await subject.open();
    await subject.drop(2, steps);
    await subject.close();
    await subject.open();
    expect(subject.begins).toBe(begins);
    expect(subject.files('sealed').map((path) => Number.parseInt(basename(path)))).toEqual([0, 1, 2, 3].filter((first) => first >= begins));
    expect(subject.read(0, ['keys', 'points']).map(({ value }) => value)).toEqual([
      '0',
      ...['1', '2', '3', '4'].slice(begins && begins - 1),
    ]);
    await subject.close();
  });

  it('are dropped no further than the oldest that has a record of the time asked for', async () => {
    const subject = await Subject.make(1);
    for (const ms of [10, 20, 15, 30, 40]) await subject.append([{ topic: 'points', key: 'k', value: '' }], ms);
    subject.tidy();
    const ends = (beforeMs: number): number[] => subject.segments.aged(beforeMs).map(({ end }) => end);
    expect([10, 11, 20, 21, 31, 100].map(ends)).toEqual([[], [1], [1], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4]]);
    await subject.close();
  });

  it('end when their oldest record is old, also in a log that was opened since, and not without a record', async () => {
    const subject = await Subject.make(1_000_000, 100);
    const said: Sent[] = [{ topic: 'points', key: 'k', value: '' }];
    await subject.append(said, 1_000);
    await subject.append(said, 1_099);
    await subject.close();
    await subject.open();
    await subject.append([], 1_099);
    expect(named(subject)).toEqual(['0.journal']);
    await subject.append([], 1_100);
    await subject.append([], 5_000);
    await subject.append(said, 6_000);
    await subject.append(said, 6_099);
    expect(named(subject)).toEqual(['0.journal', '2.journal']);
    await subject.append(said, 6_100);
    expect(named(subject)).toEqual(['0.journal', '2.journal', '4.journal']);
    await subject.close();
  });
});

describe('the witness of how far a log was durable', () => {
  const row = (head: number): Buffer => Buffer.from(new Float64Array([head, rowChecksum(new Uint8Array(), head)]).buffer);
  const changed = (at: number): ((bytes: Buffer) => Buffer) => {
    return (bytes) => Buffer.from(bytes.map((byte, place) => (place === at ? byte ^ 1 : byte)));
  };

  /** A log of three records whose witness was then changed; undefined removes it. */
  async function witnessed(change: (bytes: Buffer) => Buffer | undefined): Promise<Subject> {
    const subject = await Subject.make(1_000);
    for (const key of ['a', 'b', 'c']) await subject.append([{ topic: 'sources', key, value: '1' }]);
    await subject.close();
    const witness = join(subject.folder, witnessFileName);
    const bytes = change(readFileSync(witness));
    if (bytes) writeFileSync(witness, bytes);
    else rmSync(witness);
    return subject;
  }

  it.each([
    ['as it was', (bytes: Buffer) => bytes, 3],
    ['behind, as after a power cut', () => row(2), 2],
    ['longer than it should be', (bytes: Buffer) => Buffer.concat([bytes, bytes]), 3],
    ['not there', () => undefined, undefined],
    ['empty, as after a power cut', () => Buffer.alloc(0), undefined],
    ['cut off', (bytes: Buffer) => bytes.subarray(0, 9), undefined],
    ['all zeros', () => Buffer.alloc(16), undefined],
    ...Array.from({ length: 16 }, (_, at) => [`with byte ${at} changed`, changed(at), undefined] as const),
  ] as const)('that is %s never keeps a whole log from opening', async (_, change, knows) => {
    const subject = await witnessed(change);
    expect(new Witness(join(subject.folder, witnessFileName)).head()).toBe(knows);
    await subject.open();
    expect(subject.found.head).toBe(3);
    await subject.close();
  });

  it('that knows of more records than there are is told as damage', async () => {
    const subject = await witnessed(() => row(5));
    const says = 'it ends at offset 3, and records up to 4 were acknowledged; to go on without them, remove log/head';
    await expect(subject.open()).rejects.toThrow(says);
    await expect(subject.open()).rejects.toThrow(says);
  });
});

describe('commits that are larger than what is read of a file at once', () => {
  it('are read as they were written, before they are sealed and after', async () => {
    const subject = await Subject.make(4 << 20);
    const sent = Array.from({ length: 24 }, (_, n): Sent => ({ topic: 'points', key: `k${n}`, value: String(n).repeat(200_000) }));
    for (const one of sent) await subject.append([one]);
    const seen = (): Sent[] => subject.read(0, ['points']).map(({ topic, key, value }) => ({ topic, key, value }));
    const read = [seen()];
    subject.tidy();
    read.push(seen());
    await subject.close();
    expect(read.map((all) => all.map((one, n) => one.value === sent[n]!.value && one.key === sent[n]!.key))).toEqual([
      sent.map(() => true),
      sent.map(() => true),
    ]);
    expect(subject.files('sealed').length).toBeGreaterThan(0);
  });
});

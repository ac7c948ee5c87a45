import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { entry, tombstone, type Entry } from '#log';
import { TelemetryError } from '#model';
import { LogConsumer, Random, until } from '#testing';
import { events, sources, topics } from '#topics';
import { openTestLog } from '../open-test-log.js';
import { logFolderName } from './fault.js';
import { readFrame } from './frame.js';
import { filesIn } from './log-folder.js';
import { LogState } from './log-state.js';
import { Segments } from './segments.js';
import { Witness, witnessFileName } from './witness.js';

/** More of them with `HEADWATER_SEEDS=20000 npm run jest -- log/damage`. */
const seeds = Number(process.env['HEADWATER_SEEDS'] ?? 2_000);
const seedsATest = 50;

const work = mkdtempSync(join(tmpdir(), 'headwater-damage-'));
const kept = topics.filter(({ cleanup }) => cleanup === 'delete').map(({ name }) => name);
const compacted = topics.filter(({ cleanup }) => cleanup === 'compact').map(({ name }) => name);

const said = (n: number, text: string): Entry =>
  entry(events, {
    orgId: 'o',
    sourceId: `s${n % 9}`,
    receivedMs: n,
    origin: 'source',
    events: [{ metric: 'said', timestampMs: n, value: text, isJson: false, tags: '', place: 0, ordinal: 0 }],
  });

const seen = (n: number): Entry =>
  n % 7 === 0
    ? tombstone(sources, `o/s${n % 150}`)
    : entry(sources, { orgId: 'o', sourceId: `s${n % 150}`, firstReceivedMs: 1, lastReceivedMs: n });

/** Everything that a log holds: what was acknowledged must come out the same. */
interface Contents {
  readonly kept: readonly string[];
  readonly compacted: readonly string[];
  readonly position: number;
}

function contentsOf(dir: string): Contents {
  const folder = join(dir, logFolderName);
  const segments = new Segments(folder);
  const { head, state: change } = segments.recover(new Witness(join(folder, witnessFileName)).head());
  const read = (request: { kept: readonly string[]; compacted: readonly string[] }): (readonly [key: string, record: string])[] => {
    const found: [string, string][] = [];
    for (let from = 0; from < head;) {
      const { frames, next } = segments.read({ from, to: head, ...request });
      for (const { offset, ms, frame } of frames) {
        const { topic, key, value } = readFrame(Buffer.from(frame), 0);
        found.push([`${topic} ${key}`, `${offset} ${ms} ${key} ${value && Buffer.from(value).toString('base64')}`]);
      }
      from = next;
    }
    return found;
  };
  const state = new LogState();
  state.apply(change);
  return {
    kept: read({ kept, compacted: [] }).map(([, record]) => record),
    // An older record of a key may still be there, or not: the newest counts.
    compacted: [...new Map(read({ kept: [], compacted })).values()],
    position: Math.max(0, ...state.positions('g').map(({ next }) => next)),
  };
}

/**
 * Fills a log and copies its files while it lives, again when it is closed, and when it has dropped what the group has committed. Another process
 * copies: it must not touch our locks.
 */
async function makeLogs(): Promise<void> {
  const [origin, live, closed, dropped] = ['origin', 'live', 'closed', 'dropped'].map((name) => join(work, name)) as [
    string,
    string,
    string,
    string,
  ];
  const storage = await openTestLog(origin, 20_000);
  const random = new Random(11);
  const consumer = await LogConsumer.join(storage.log, { group: 'g', topics: [events] });
  const text = (bytes: number): string => Buffer.from(Array.from({ length: bytes }, () => random.whole(33, 126))).toString();
  for (let n = 0; n < 240; n++) {
    await storage.log.append([said(n, text(random.pick([5, 50, 700, 3000]))), seen(n)]);
    if (n === 100) await consumer.commit();
  }
  const kinds = (): string[] => filesIn(join(origin, logFolderName)).map(({ kind }) => kind);
  await until('all but the newest journal are sealed', () => kinds().filter((kind) => kind === 'journal').length === 1);
  await until('the witness knows the end', () => new Witness(join(origin, logFolderName, witnessFileName)).head() === storage.log.head);
  await promisify(execFile)('cp', ['-r', origin, live]);
  await storage.close();
  await promisify(execFile)('cp', ['-r', origin, closed]);
  const later = await openTestLog(origin, 20_000, { clock: () => Date.now() + 3_600_000, retention: { keepMs: 1_000, groups: [] } });
  await later.log.tidied();
  await later.close();
  await promisify(execFile)('cp', ['-r', origin, dropped]);
}

/** Flips a byte of the file, cuts it off or removes it, and says where. */
function damage(path: string, random: Random): string {
  if (random.chance(0.1)) {
    rmSync(path);
    return 'removed';
  }
  const bytes = readFileSync(path);
  const at = random.whole(0, Math.max(0, bytes.length - 1));
  if (random.chance(0.3)) {
    truncateSync(path, at);
    return `cut off at ${at}`;
  }
  bytes[at] = bytes[at]! ^ random.whole(1, 255);
  writeFileSync(path, bytes);
  return `byte ${at} of ${bytes.length} changed`;
}

/** What is wrong with how a damaged copy answers; nothing is the aim. */
function verdict(dir: string, expected: Contents): string | undefined {
  try {
    const found = contentsOf(dir);
    if (found.position > expected.position) return `the group would skip to ${found.position}`;
    for (const part of ['kept', 'compacted'] as const) {
      if (found[part].join('\n') !== expected[part].join('\n')) return `${part} differs: ${found[part].length} of ${expected[part].length}`;
    }
    return undefined;
  } catch (error) {
    const named = error instanceof TelemetryError && error.code === 'log_corrupt' && error.message.startsWith('The log is damaged: ');
    return named ? undefined : `threw ${String(error)}`;
  }
}

describe.each([
  ['live', 240, 240],
  ['closed', 240, 240],
  // The group has committed the first 101.
  ['dropped', 139, 239],
] as const)('a damaged copy of a log that was %s', (state, least, most) => {
  let expected: Contents;
  beforeAll(async () => {
    if (!existsSync(join(work, 'dropped'))) await makeLogs();
    const copy = join(work, `whole-${state}`);
    cpSync(join(work, state), copy, { recursive: true });
    expected = contentsOf(copy);
  });

  it('would hold everything if it were whole', () => {
    expect(expected.kept.length).toBeGreaterThanOrEqual(least);
    expect(expected.kept.length).toBeLessThanOrEqual(most);
    expect(expected.compacted.length).toBe(150);
    expect(expected.position).toBeGreaterThan(0);
  });

  it.each(Array.from({ length: Math.ceil(seeds / 3 / seedsATest) }, (_, n) => n * seedsATest))(
    'holds every acknowledged record or says where it is damaged, seeds from %i',
    (first) => {
      const wrong: string[] = [];
      for (let seed = first; seed < first + seedsATest; seed++) {
        const random = new Random(seed);
        const dir = join(work, `${state}-${seed}`);
        cpSync(join(work, state), dir, { recursive: true });
        const name = join(logFolderName, random.pick(readdirSync(join(dir, logFolderName))));
        const what = damage(join(dir, name), random);
        const flaw = verdict(dir, expected);
        if (flaw) wrong.push(`seed ${seed}: ${name}, ${what}: ${flaw}`);
        rmSync(dir, { recursive: true });
      }
      expect(wrong).toEqual([]);
    },
  );
});

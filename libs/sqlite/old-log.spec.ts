import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync, cpSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { entry } from '#log';
import { TelemetryError } from '#model';
import { Random } from '#testing';
import { events, points, sources, topics } from '#topics';
import { projectorsOf } from '../../apps/processors/projectors-of.js';
import { rowChecksum } from './checksum.js';
import { openDataFolder } from './data-folder.js';
import { trim } from './offline/trim.js';
import { verify } from './offline/verify.js';
import { openTestLog } from './open-test-log.js';
import { openStorage } from './storage.js';
import { framesIn } from './log/batch.js';
import type { Epoch } from './log/epochs.js';
import { encodedEntry, readFrame, writeFrame } from './log/frame.js';
import { filesIn } from './log/log-folder.js';
import { LogState } from './log/log-state.js';
import { convertOldLog } from './old-log.js';
import type { GroupPosition } from './log/positions.js';
import { Segments } from './log/segments.js';
import { Witness } from './log/witness.js';

/** Each was made by that commit's own code; see the README beside them. */
const fixtures = new URL('../../../libs/testing/data/old-folders/', import.meta.url);
const names = ['74477d6-stopped', '74477d6-killed', 'e88cbb3-stopped', 'e88cbb3-killed'] as const;
type Name = (typeof names)[number];

interface HeldRecord {
  readonly offset: number;
  readonly ms: number;
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the value; null for a tombstone. */
  readonly sha256: string | null;
}

/** What a log holds. */
interface Held {
  readonly head: number;
  readonly epochs: readonly Epoch[];
  readonly positions: readonly GroupPosition[];
  readonly kept: readonly HeldRecord[];
  readonly newest: readonly HeldRecord[];
}

/** What the version that wrote a folder reads in it. */
const heldBefore = (name: Name): Held => JSON.parse(readFileSync(new URL(`${name}.json`, fixtures), 'utf8')) as Held;

function unpacked(name: Name): string {
  const dir = mkdtempSync(join(tmpdir(), 'headwater-old-'));
  execFileSync('tar', ['xzf', fileURLToPath(new URL(`${name}.tar.gz`, fixtures)), '-C', dir]);
  return dir;
}

const record = (offset: number, ms: number, bytes: Uint8Array): HeldRecord => {
  const { topic, partition, key, headers, value } = readFrame(Buffer.from(bytes), 0);
  return { offset, ms, topic, partition, key, headers, sha256: value && createHash('sha256').update(value).digest('hex') };
};

/** What the log of a folder that nobody has open holds. */
function heldNow(dir: string): Held {
  const segments = new Segments(join(dir, 'log'));
  const { head, state: change } = segments.recover(new Witness(join(dir, 'log/head')).head());
  const state = new LogState();
  state.apply(change);
  const kept = [...segments.kept(head)].flatMap((batch) =>
    [...framesIn(batch)].map(({ offset, frame }) => record(offset, batch.ms, frame)),
  );
  const newest: HeldRecord[] = [];
  const compacted = topics.filter(({ cleanup }) => cleanup === 'compact').map(({ name }) => name);
  for (let from = 0; from < head;) {
    const { frames, next } = segments.read({ from, to: head, kept: [], compacted });
    newest.push(...frames.map(({ offset, ms, frame }) => record(offset, ms, frame)));
    from = next;
  }
  return { head, epochs: state.epochs, positions: state.whole().positions!, kept, newest };
}

/** The same, where the oldest version wrote no epochs: its whole log is one. */
const expected = (name: Name): Held => {
  const held = heldBefore(name);
  return held.epochs.length > 0
    ? held
    : { ...held, epochs: [{ start: 0, id: expect.stringMatching(/^[0-9a-f]{16}$/) as unknown as string }] };
};

const oldNames = (dir: string): string[] => readdirSync(dir).filter((name) => /^log(\.|$)/.test(name));
const formatOf = (dir: string): string => readFileSync(join(dir, 'FORMAT'), 'utf8');
const filesOf = (dir: string): Record<string, string> =>
  Object.fromEntries(readdirSync(dir).map((name) => [name, readFileSync(join(dir, name)).toString('base64')]));

async function opened(dir: string): Promise<readonly string[]> {
  const storage = await openStorage(dir);
  await storage.close();
  return storage.warnings;
}

const remade = 'store.db was written by another version: it is made again from the log, and the server is ready once that is done.';

describe.each(names)('a data folder of an earlier version, %s,', (name) => {
  it('holds the same in the files of this version, and nothing else', async () => {
    const dir = unpacked(name);
    expect(await opened(dir)).toEqual(name.startsWith('e88cbb3') ? [] : [remade]);
    expect(heldNow(dir)).toEqual(expected(name));
    expect(oldNames(dir)).toEqual(['log']);
    expect(formatOf(dir)).toBe('headwater 2\n');
  });

  it('holds the same in many files', async () => {
    const dir = unpacked(name);
    await convertOldLog(dir, 1);
    expect(filesIn(join(dir, 'log')).filter(({ kind }) => kind === 'sealed').length).toBeGreaterThan(1);
    expect(heldNow(dir)).toEqual(expected(name));
  });

  it('answers what its log says', async () => {
    const { sources: heard, events: told, differences, first } = await verify(unpacked(name), projectorsOf);
    expect({ differences, first }).toEqual({ differences: 0, first: [] });
    expect({ heard, told }).toEqual({ heard: 5, told: name.endsWith('killed') ? 30 : 25 });
  });

  it('goes on at its head, and is opened a second time like any other', async () => {
    const dir = unpacked(name);
    const { head, epochs, kept, newest } = expected(name);
    const log = await openTestLog(dir);
    const source = { orgId: 'org_x', sourceId: 'later', firstReceivedMs: 1, lastReceivedMs: 2 };
    await log.log.append([entry(sources, source)]);
    const again = await log.reopen();
    expect([again.log.head, again.log.warning]).toEqual([head + 1, undefined]);
    await again.close();
    const held = heldNow(dir);
    expect(held.epochs).toEqual([...epochs, { start: head, id: expect.any(String) }]);
    expect(held.kept).toEqual(kept);
    expect(held.newest.slice(0, -1)).toEqual(newest);
    expect(held.newest.at(-1)).toMatchObject({ offset: head, key: 'org_x/later' });
  });
});

it('a data folder of an earlier version can be trimmed before a server has opened it', async () => {
  const dir = unpacked('e88cbb3-killed');
  const { kept } = heldBefore('e88cbb3-killed');
  const telemetry = kept.filter(({ topic }) => topic === points.name || topic === events.name);
  const stays = telemetry.filter(({ key }) => key.endsWith('/press-1')).length;
  const trimmed = await trim(dir, { keeps: (sourceId) => sourceId === 'press-1', sinceMs: undefined, confirmed: true });
  expect(trimmed).toEqual({ kept: stays, gone: telemetry.length - stays });
  expect(oldNames(dir)).toEqual(['log']);
  expect(formatOf(dir)).toBe('headwater 2\n');
});

describe('a conversion that was ended', () => {
  const cut = (dir: string): void => {
    const [fresh, made] = [join(dir, 'log.new'), mkdtempSync(join(tmpdir(), 'headwater-old-'))];
    cpSync(join(dir, 'log'), made, { recursive: true });
    rmSync(join(dir, 'log'), { recursive: true });
    mkdirSync(fresh);
    const [newest, sealed] = readdirSync(made)
      .filter((file) => /newest|sealed/.test(file))
      .toSorted()
      .toReversed() as [string, string];
    cpSync(join(made, newest), join(fresh, newest));
    cpSync(join(made, sealed), join(fresh, `${sealed}.new`));
    truncateSync(join(fresh, `${sealed}.new`), 1000);
  };
  const noteFormat = (dir: string): void => {
    const folder = openDataFolder(dir);
    folder.noteFormat();
    folder.release();
  };
  const steps: readonly (readonly [when: string, end: (dir: string) => void])[] = [
    ['while it wrote', cut],
    ['once the log was there', () => undefined],
    ['once older versions refused the folder', noteFormat],
    ['once the old file was gone', (dir) => rmSync(join(dir, 'log.db'))],
    [
      'before the old witness was gone',
      (dir) => ['log.db', 'log.db-wal', 'log.db-shm'].map((file) => rmSync(join(dir, file), { force: true })),
    ],
  ];

  it.each(names.flatMap((name) => steps.map(([when, end]) => [name, when, end] as const)))(
    'of %s, %s, is finished',
    async (name, _, end) => {
      const dir = unpacked(name);
      await convertOldLog(dir);
      end(dir);
      await (await openTestLog(dir)).close();
      expect(heldNow(dir)).toEqual(expected(name));
      expect(oldNames(dir)).toEqual(['log']);
    },
  );
});

describe('a damaged log of an earlier version', () => {
  /** `npm run jest -- old-log` with HEADWATER_SEEDS=400 is the long form. */
  const seeds = Number(process.env['HEADWATER_SEEDS'] ?? 20);
  const damages: readonly (readonly [name: Name, file: string, how: string])[] = [
    ['74477d6-stopped', 'log.db', 'changed'],
    ['e88cbb3-stopped', 'log.db', 'changed'],
    ['e88cbb3-killed', 'log.db', 'changed'],
    ['e88cbb3-killed', 'log.db-wal', 'changed'],
    ['74477d6-stopped', 'log.db', 'cut off'],
    ['e88cbb3-killed', 'log.db-wal', 'cut off'],
  ];

  function damage(path: string, how: string, random: Random): number {
    const bytes = readFileSync(path);
    const at = random.whole(0, bytes.length - 1);
    if (how === 'cut off') truncateSync(path, at);
    else writeFileSync(path, bytes.with(at, bytes[at]! ^ random.whole(1, 255)));
    return at;
  }

  /** How the folder is taken: `whole` or `refused`, or else what is wrong. */
  async function verdict(dir: string, name: Name): Promise<string> {
    const before = filesOf(dir);
    try {
      await convertOldLog(dir);
    } catch (error) {
      const isNamed = error instanceof TelemetryError && error.code === 'log_corrupt';
      if (!isNamed || !error.message.startsWith('The log is damaged: log.db: ')) return `threw ${String(error)}`;
      const isLeft = Object.entries(before).every(([file, bytes]) => file.endsWith('-shm') || filesOf(dir)[file] === bytes);
      return isLeft && !oldNames(dir).some((file) => ['log', 'log.new'].includes(file)) ? 'refused' : 'refused, and touched';
    }
    const { epochs, ...held } = heldNow(dir);
    const { epochs: epochsBefore, ...heldThen } = heldBefore(name);
    const isWhole = isDeepStrictEqual(held, heldThen) && (epochsBefore.length === 0 || isDeepStrictEqual(epochs, epochsBefore));
    return isWhole ? 'whole' : 'holds something else';
  }

  it.each(damages)('%s, %s %s, opens whole or is refused and stays as it is', async (name, file, how) => {
    const verdicts: string[] = [];
    for (let seed = 0; seed < seeds; seed++) {
      const dir = unpacked(name);
      const at = damage(join(dir, file), how, new Random(seed));
      const found = await verdict(dir, name);
      verdicts.push(['whole', 'refused'].includes(found) ? found : `seed ${seed}, byte ${at}: ${found}`);
      rmSync(dir, { recursive: true });
    }
    expect(verdicts.filter((found) => found.startsWith('seed'))).toEqual([]);
    expect(verdicts).toContain('refused');
  });

  it.each([
    ['DELETE FROM batch WHERE first = (SELECT first FROM batch ORDER BY first LIMIT 1 OFFSET 5)', 'the row after offset'],
    ['UPDATE batch SET ms = ms + 1', 'fails its checksum'],
    ['DELETE FROM latest WHERE at = (SELECT min(at) FROM latest)', 'rows of the compacted topics are missing'],
    ['UPDATE latest SET ms = ms + 1', 'fails its checksum'],
    ['DELETE FROM batch WHERE first > 80; DELETE FROM latest WHERE at > 80', 'were acknowledged'],
    ['UPDATE epoch SET id = 1', 'the epoch from offset'],
    ['UPDATE position SET next = next + 1', 'the offset of group'],
    ['ALTER TABLE epoch RENAME TO other', 'the table other is not one of ours'],
    ['DROP TABLE position', 'the table position is missing'],
  ])('is refused after %j', async (change, why) => {
    const dir = unpacked('e88cbb3-stopped');
    {
      using db = new DatabaseSync(join(dir, 'log.db'));
      db.exec(change);
    }
    const refusal = { code: 'log_corrupt', message: expect.stringMatching(`^The log is damaged: log.db: .*${why}`) };
    await expect(convertOldLog(dir)).rejects.toMatchObject(refusal);
  });

  it('is refused when it is missing, and known to have had records', async () => {
    const dir = unpacked('e88cbb3-stopped');
    rmSync(join(dir, 'log.db'));
    await expect(openStorage(dir)).rejects.toMatchObject({
      code: 'log_corrupt',
      message: `The log is damaged: log.db: it ends at offset 0, and records up to ${heldBefore('e88cbb3-stopped').head - 1} were acknowledged; to go on without them, remove log.head`,
    });
  });
});

describe('a folder with an earlier log beside its log', () => {
  const withLogOf = async (name: Name, change: (dir: string) => void): Promise<string> => {
    const dir = unpacked(name);
    change(dir);
    await (await openTestLog(dir)).close();
    return dir;
  };
  const whole = (): void => {};
  const older = (dir: string): void => {
    for (const file of ['log.db-wal', 'log.db-shm', 'log.head']) rmSync(join(dir, file));
  };

  it.each<readonly [what: string, old: Name, log: Name, change: (dir: string) => void]>([
    ['another log', 'e88cbb3-stopped', 'e88cbb3-killed', whole],
    ['another log without epochs', '74477d6-stopped', '74477d6-killed', whole],
    ['more of the same log', 'e88cbb3-killed', 'e88cbb3-killed', older],
    ['more of the same log without epochs', '74477d6-killed', '74477d6-killed', older],
  ])('is refused when that is %s, and neither is touched', async (_, old, log, change) => {
    const dir = unpacked(old);
    cpSync(join(await withLogOf(log, change), 'log'), join(dir, 'log'), { recursive: true });
    const before = [filesOf(join(dir, 'log')), readFileSync(join(dir, 'log.db'))];
    await expect(openStorage(dir)).rejects.toThrow(
      `The data folder ${dir} has two logs, log.db of an earlier version and log/, and they do not hold the same: move log/ away`,
    );
    expect([filesOf(join(dir, 'log')), readFileSync(join(dir, 'log.db'))]).toEqual(before);
  });

  it('loses it when it has no record', async () => {
    const dir = unpacked('e88cbb3-stopped');
    await (await openTestLog(dir)).close();
    writeFileSync(join(dir, 'log.db'), '');
    await (await openTestLog(dir)).close();
    expect(oldNames(dir)).toEqual(['log']);
  });
});

it('a log of an earlier version that has no record becomes an empty one', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'headwater-old-'));
  writeFileSync(join(dir, 'log.db'), '');
  const log = await openTestLog(dir);
  expect(log.log.head).toBe(0);
  await log.close();
  expect(oldNames(dir)).toEqual(['log']);
});

/** Adds a record that does not compress, as the earlier versions did. */
function addLarge(dir: string): void {
  using db = new DatabaseSync(join(dir, 'log.db'));
  const { first: prev } = db.prepare('SELECT max(first) AS first FROM batch').get() as { readonly first: number };
  const first = new Witness(join(dir, 'log.head')).head()!;
  const large = encodedEntry(points, 'org_x/large', {}, randomBytes(200_000));
  const frame = Buffer.alloc(large.bytes);
  writeFrame(frame, 0, large);
  db.prepare('INSERT INTO batch(first, prev, n, ms, z, crc, body) VALUES(?, ?, 1, 1, 0, ?, ?)').run(
    first,
    prev,
    rowChecksum(frame, first, prev, 1, 1, 0),
    frame,
  );
}

const program = `
  const { openStorage } = await import(process.env.LIBS + 'sqlite/index.js');
  await openStorage(process.env.DIR).catch(({ code, message }) => console.log(code, message));
`;

// Elsewhere a limit of the size of files has other units.
(process.platform === 'linux' ? it : it.skip)('a conversion for which the disk has no room is refused, and done later', async () => {
  const dir = unpacked('e88cbb3-stopped');
  addLarge(dir);
  const before = readFileSync(join(dir, 'log.db'));
  const file = join(mkdtempSync(join(tmpdir(), 'headwater-old-')), 'opening.mjs');
  writeFileSync(file, program);
  const env = { ...process.env, DIR: dir, LIBS: new URL('../', import.meta.url).href };
  const { stdout, stderr } = spawnSync('sh', ['-c', 'ulimit -S -f 200; exec "$0" "$1"', process.execPath, file], { env, encoding: 'utf8' });
  expect({ stdout, stderr }).toEqual({
    stdout: expect.stringMatching(/^log_unavailable converting log\.db failed: the disk is full \(EFBIG\): /),
    stderr: '',
  });
  expect(readFileSync(join(dir, 'log.db')).equals(before)).toBe(true);
  expect([existsSync(join(dir, 'log')), existsSync(join(dir, 'log.new')), formatOf(dir)]).toEqual([false, false, 'headwater 1\n']);
  await opened(dir);
  const { kept, head } = heldNow(dir);
  expect([kept.length, head]).toEqual([heldBefore('e88cbb3-stopped').kept.length + 1, heldBefore('e88cbb3-stopped').head + 1]);
});

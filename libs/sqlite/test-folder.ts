import { mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { entry, readLog, type Entry, type Processor } from '#log';
import { points, sources } from '#topics';
import { filesIn, type FileKind } from './log/log-folder.js';
import { catchUp } from './offline/catch-up.js';
import { openTestLog, type TestLog } from './open-test-log.js';
import { openStorage, type OpenedStorage } from './storage.js';

export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'headwater-backup-'));

/** So small that a few dozen appends make several files. */
export const journalBytes = 20_000;
/** So small that the newest values of compacted topics are written again and again: once in 64 files. */
export const tinyJournalBytes = 1_000;
const keys = 7;

/** The nth append: a record that is kept, and one of a key that comes again. */
export const nth = (n: number): readonly Entry[] => [
  entry(points, {
    orgId: 'o',
    sourceId: `s${n % keys}`,
    receivedMs: n,
    series: [{ metric: 'm', tags: '', timestampMs: Float64Array.of(n), value: Float64Array.of(n) }],
  }),
  entry(sources, { orgId: 'o', sourceId: `s${n % keys}`, firstReceivedMs: n % keys || keys, lastReceivedMs: n }),
];

/** The last of the appends that a log has, after a look at all of them: none is missing, and each key has its newest record. */
export async function lastOf({ log }: TestLog): Promise<number> {
  const kept: number[] = [];
  const newest = new Map<string, number>();
  await readLog(log, {
    topics: [points, sources],
    from: 'beginning',
    take: (records) => {
      for (const { topic, key, value } of records) {
        if (topic === points) kept.push((value as { receivedMs: number }).receivedMs);
        else newest.set(key, (value as { lastReceivedMs: number }).lastReceivedMs);
      }
    },
    unreadable: ({ offset }) => {
      throw new Error(`offset ${offset} cannot be read`);
    },
  });
  const last = kept.length;
  const isWhole = kept.toSorted((a, b) => a - b).every((n, at) => n === at + 1);
  const isNewest = newest.entries().every(([key, n]) => n <= last && n > last - keys && key === `o/s${n % keys}`);
  if (!isWhole || !isNewest || newest.size !== Math.min(keys, last)) throw new Error('records are missing');
  return last;
}

/** SQL that gives the block of some row another first byte. @param rowid SQL too. */
export const damageBlock = (rowid: string): string =>
  `UPDATE block SET body = CAST(iif(substr(body, 1, 1) = x'ff', x'fe', x'ff') || substr(body, 2) AS BLOB) WHERE rowid = (${rowid})`;

export const filesOf = (dir: string, kind: FileKind): readonly string[] =>
  filesIn(join(dir, 'log')).flatMap((file) => (file.kind === kind ? [file.path] : []));

/** A folder of a stopped server with so many appends. From 300 on it has files of every kind, of the newest values with tiny journals only. */
export async function aFolder(
  processorsOf: (storage: OpenedStorage) => readonly Processor[],
  appends = 400,
  maxBytes = journalBytes,
): Promise<string> {
  const dir = newFolder();
  const log = await openTestLog(dir, maxBytes);
  for (let n = 1; n <= appends; n++) await log.log.append(nth(n));
  const last = maxBytes === tinyJournalBytes ? 'newest' : 'sealed';
  const isTidy = (): boolean => appends < 300 || (filesOf(dir, 'journal').length === 1 && filesOf(dir, last).length > 0);
  // The thread that tidies the log answers in between.
  while (!isTidy()) await log.log.countLetters('none', 0);
  await log.close();
  const storage = await openStorage(dir);
  await catchUp(storage.log, processorsOf(storage));
  await storage.close();
  return dir;
}

/** Each file below a folder with what it holds, but for locks. */
export function contentsOf(dir: string): Record<string, string> {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => statSync(join(dir, name)).isFile() && !name.startsWith('lock'));
  return Object.fromEntries(files.toSorted().map((name) => [name, readFileSync(join(dir, name), 'latin1')]));
}

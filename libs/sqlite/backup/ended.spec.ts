import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { processorsOf } from '#testing';
import { openTestLog } from '../open-test-log.js';
import { backup } from './backup.js';
import { manifestOf } from './backup-folder.js';
import { restore } from './restore.js';
import { aFolder, contentsOf, newFolder, nth } from '../test-folder.js';

/**
 * Does its work again and again, and ends it one call of the file system later each time: from there on no call does anything, as none does after a
 * kill. A write that it ends in is torn. It prints what it found after each, until the work comes to its end.
 */
const program = `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  let left = Infinity;
  for (const name of ['openSync', 'writeSync', 'writeFileSync', 'fsyncSync', 'renameSync', 'rmSync', 'rmdirSync', 'mkdirSync', 'readdirSync']) {
    const real = fs[name];
    fs[name] = (...given) => {
      if (left-- > 0) return real(...given);
      if (left === -1 && name === 'writeSync') real(given[0], given[1], given[2], Math.floor(given[1].length / 2), given[4]);
      throw new Error('ended');
    };
  }
  syncBuiltinESMExports();
  const [{ backup }, { readBackup }, { restore }] = await Promise.all(
    ['backup', 'read-backup', 'restore'].map((name) => import(process.env.HERE + name + '.js')),
  );
  const [what, from, to] = process.argv.slice(2);
  const drain = async (_, bytes) => { for await (const piece of bytes); };
  const found = {
    backup: async () => (await readBackup(to, drain)).head,
    restore: () => (fs.existsSync(to + '/FORMAT') ? fs.readFileSync(to + '/FORMAT', 'utf8').trim() : 'none'),
  };
  const work = { backup: () => backup({ data: from }, to), restore: () => restore(from, to) };
  for (let calls = 0; left < 0 || left === Infinity; calls++) {
    left = calls;
    await work[what]().catch((error) => { if (left >= 0) throw error; });
    const isEnded = left < 0;
    left = Infinity;
    const now = await found[what]();
    console.log(JSON.stringify(now));
    // A folder that is whole takes no other restore.
    if (!isEnded || now === 'headwater 2') break;
  }
`;

/** Does its work once, and prints what it says. */
const once = `
  const [{ backup }, { restore }] = await Promise.all(['backup', 'restore'].map((name) => import(process.env.HERE + name + '.js')));
  const [what, from, to] = process.argv.slice(2);
  const work = { backup: () => backup({ data: from }, to), restore: () => restore(from, to) };
  console.log(JSON.stringify(await work[what]().then(() => 'done', ({ message, cause }) => message + ' ' + cause?.message)));
`;

/** The lines that a program prints in a process of its own, whose files take at most so many blocks of 512 bytes. */
function linesOf(text: string, what: 'backup' | 'restore', from: string, to: string, blocks = 'unlimited'): readonly unknown[] {
  const file = join(newFolder(), 'program.mjs');
  writeFileSync(file, text);
  const script = `ulimit -S -f ${blocks}; exec "$0" "$@"`;
  const env = { ...process.env, HERE: new URL('./', import.meta.url).href };
  const { stdout, stderr, status } = spawnSync('sh', ['-c', script, process.execPath, file, what, from, to], { env, encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
}

let data: string;
let older: string;
let olderHead: number;

beforeAll(async () => {
  data = await aFolder(processorsOf, 300);
  older = join(newFolder(), 'backup');
  olderHead = (await backup({ data }, older)).head;
  const log = await openTestLog(data);
  for (let n = 301; n <= 310; n++) await log.log.append(nth(n));
  await log.close();
});

const copyOf = (folder: string): string => {
  const copy = join(newFolder(), 'backup');
  cpSync(folder, copy, { recursive: true });
  return copy;
};

it('a backup that is ended anywhere leaves the last one, until it is whole itself', () => {
  const to = copyOf(older);
  const heads = linesOf(program, 'backup', data, to);
  expect(heads.length).toBeGreaterThan(40);
  expect(heads.filter((head, n) => head !== heads[n - 1])).toEqual([olderHead, olderHead + 20]);
  const { files } = manifestOf(to);
  expect(readdirSync(join(to, 'files')).toSorted()).toEqual(files.map(({ sha256 }) => sha256).toSorted());
});

it('a backup that is ended anywhere leaves the last file, until it is whole itself', async () => {
  const to = join(newFolder(), 'backup.tar');
  await backup({ data: await aFolder(processorsOf, 1) }, to);
  const heads = linesOf(program, 'backup', data, to);
  expect(heads.length).toBeGreaterThan(20);
  expect(new Set(heads).size).toBe(2);
  expect(readdirSync(join(to, '..'))).toEqual(['backup.tar']);
});

it('a restore that is ended anywhere leaves a folder that no server opens, until it is whole', async () => {
  const to = join(newFolder(), 'data');
  const found = linesOf(program, 'restore', older, to);
  expect(found.length).toBeGreaterThan(40);
  // What is empty still is empty to the end: no server takes the folder for a new one once a file is in it.
  expect(found.filter((one, n) => one !== found[n - 1])).toEqual(['none', 'unfinished restore', 'headwater 2']);
  const whole = join(newFolder(), 'data');
  await restore(older, whole);
  expect(contentsOf(to)).toEqual(contentsOf(whole));
});

describe('on a full disk', () => {
  const full = '100';

  it.each(['backup', 'backup.tar'])('a %s is not made, and the last one stands', async (name) => {
    const to = join(newFolder(), name);
    await backup({ data: await aFolder(processorsOf, 1) }, to);
    const last = contentsOf(join(to, '..'));
    expect(linesOf(once, 'backup', data, to, full)).toEqual([
      expect.stringMatching(/^The store cannot be copied to .*: (database or disk is full|disk I\/O error)\. Make room there/),
    ]);
    expect(contentsOf(join(to, '..'))).toEqual(last);
  });

  it('nothing is restored', () => {
    const to = newFolder();
    expect(linesOf(once, 'restore', older, join(to, 'data'), full)).toEqual([
      expect.stringMatching(/^Restoring into .*data failed: the disk is full \(EFBIG\)/),
    ]);
    expect(readdirSync(to)).toEqual([]);
  });
});

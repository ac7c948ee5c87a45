import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { processorsOf, Random } from '#testing';
import { DataFolderError } from '../data-folder.js';
import { backup } from './backup.js';
import { manifestOf } from './backup-folder.js';
import { manifestName, manifestText, type Manifest } from './manifest.js';
import { restore } from './restore.js';
import { tarEnd, tarHeader, tarPadding } from './tar.js';
import { aFolder, contentsOf, filesOf, newFolder, tinyJournalBytes } from '../test-folder.js';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const random = new Random(seed);
const parent = newFolder();
const [folder, file] = [join(parent, 'backup'), join(parent, 'backup.tar')];
let manifest: Manifest;

beforeAll(async () => {
  const data = await aFolder(processorsOf);
  await backup({ data }, file);
  manifest = await backup({ data }, folder);
});

type Files = readonly (readonly [name: string, bytes: Buffer])[];

const bytesOf = (name: string): Buffer => readFileSync(join(folder, 'files', manifest.files.find((one) => one.name === name)!.sha256));
const whole = (): Files => manifest.files.map(({ name }) => [name, bytesOf(name)]);

const tar = (files: Files, last: string = manifestText(manifest)): Buffer =>
  Buffer.concat([
    ...[...files, [manifestName, Buffer.from(last)] as const].flatMap(([name, bytes]) => [
      tarHeader(name, bytes.length, 0o600, 0),
      bytes,
      tarPadding(bytes.length),
    ]),
    tarEnd(),
  ]);

/** The manifest that fits some files. */
const fitting = (files: Files): string =>
  manifestText({
    ...manifest,
    files: files.map(([name, bytes]) => ({ name, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') })),
  });

/** What a restore says; it must leave no trace. */
async function refusal(path: string): Promise<string> {
  const beside = newFolder();
  const there = join(beside, 'empty');
  mkdirSync(there);
  const said: string[] = [];
  for (const target of [join(beside, 'new', 'data'), there]) {
    const error: unknown = await restore(path, target).then(
      () => 'restored',
      (cause: unknown) => cause,
    );
    if (!(error instanceof DataFolderError)) throw new Error(`seed ${seed}: ${String(error)}`, { cause: error });
    said.push(error.message);
  }
  expect([readdirSync(beside), readdirSync(there), new Set(said).size]).toEqual([['empty'], [], 1]);
  return said[0]!;
}

async function refusalOfTar(bytes: Buffer): Promise<string> {
  const path = join(newFolder(), 'damaged.tar');
  writeFileSync(path, bytes);
  return refusal(path);
}

const foreign = '0000000000009999.sealed';
const evil = [['../evil', Buffer.from('x')]] as const;

describe('a tar file', () => {
  it('is what a backup writes when it is put together here', async () => {
    const path = join(newFolder(), 'whole.tar');
    writeFileSync(path, tar(whole()));
    const target = join(newFolder(), 'data');
    await restore(path, target);
    expect(Object.keys(contentsOf(target)).toSorted()).toEqual(manifest.files.map(({ name }) => name).toSorted());
  });

  it.each([
    ['without a file', () => tar(whole().slice(1)), /store\.db is missing/],
    ['with a file that has changed', () => tar([['store.db', Buffer.alloc(9)], ...whole().slice(1)]), /store\.db has changed/],
    [
      'with one more file',
      () => tar([...whole(), [`log/${foreign}`, Buffer.from('x')]]),
      /log\/0000000000009999\.sealed is in it and not in its MANIFEST/,
    ],
    ['with a file twice', () => tar([...whole(), whole()[0]!]), /store\.db is in it twice/],
    ['with a file of another place', () => tar([...whole(), ...evil]), /"\.\.\/evil" is no file of a data folder/],
    ['with such a file in its manifest too', () => tar([...whole(), ...evil], fitting([...whole(), ...evil])), /"\.\.\/evil" is no file/],
    ['that names such a file', () => tar(whole(), fitting([...whole(), ...evil])), /its MANIFEST is not one of ours/],
    ['with an absolute name', () => tar([['/etc/evil', Buffer.from('x')], ...whole()]), /"\/etc\/evil" is no file/],
    [
      'without a manifest',
      () => tar(whole()).subarray(0, -1536 - tarPadding(manifestText(manifest).length).length - manifestText(manifest).length),
      /its end is missing/,
    ],
    ['with anything behind its end', () => Buffer.concat([tar(whole()), Buffer.from('x')]), /something follows its end/],
    ['of a newer format of data folders', () => newer('headwater 99\n'), /has format 99 and this version knows formats up to 4/],
    ['of a newer format of backups', () => tar(whole(), manifestOfVersion(2)), /is of format 2 and this version knows 1/],
    ['of nothing', () => Buffer.of(), /its end is missing/],
    ['of nothing but zeros', () => tarEnd(), /has no MANIFEST/],
    ['of something else', () => Buffer.alloc(5000, 'headwater'), /a header in it fails its checksum/],
  ] as const)('%s is refused', async (_, bytes, sentence) => {
    expect(await refusalOfTar(bytes())).toMatch(sentence);
  });

  it('with a link is refused', async () => {
    const link = tarHeader('log/x', 0, 0o600, 0);
    link.write('2', 156);
    link.write('/etc', 157);
    link.fill(' ', 148, 156);
    link.write(
      `${link
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, '0')}\0 `,
      148,
    );
    expect(await refusalOfTar(Buffer.concat([link, tar(whole())]))).toMatch(/it has more in it than plain files/);
  });

  it('that was cut anywhere is refused', async () => {
    const bytes = readFileSync(file);
    for (const length of [bytes.length - 1, ...Array.from({ length: 20 }, () => random.whole(0, bytes.length - 2))])
      expect(await refusalOfTar(bytes.subarray(0, length))).toMatch(/damaged\.tar/);
  });

  it('of which any bit was flipped is refused', async () => {
    for (let n = 0; n < 40; n++) {
      const bytes = readFileSync(file);
      bytes[random.whole(0, bytes.length - 1)]! ^= 1 << random.whole(0, 7);
      expect(await refusalOfTar(bytes)).toMatch(/damaged\.tar/);
    }
  });
});

const newer = (format: string): Buffer => {
  const files = whole().map(([name, bytes]) => [name, name === 'FORMAT' ? Buffer.from(format) : bytes] as const);
  return tar(files, fitting(files));
};

function manifestOfVersion(version: number): string {
  const text = manifestText(manifest).replace('"headwater_backup": 1', `"headwater_backup": ${version}`);
  const json = text.slice(0, text.lastIndexOf('\n', text.length - 2) + 1);
  return `${json}${createHash('sha256').update(json).digest('hex')}\n`;
}

describe('a folder', () => {
  const copied = (): string => {
    const copy = join(newFolder(), 'backup');
    cpSync(folder, copy, { recursive: true });
    return copy;
  };

  it('is refused when any of its files is cut, changed or missing', async () => {
    for (const name of [manifestName, ...manifest.files.map(({ sha256 }) => join('files', sha256))]) {
      for (const damage of [
        (path: string) => truncateSync(path, random.whole(0, readFileSync(path).length - 1)),
        (path: string) => {
          const bytes = readFileSync(path);
          bytes[random.whole(0, bytes.length - 1)]! ^= 1 << random.whole(0, 7);
          writeFileSync(path, bytes);
        },
        (path: string) => rmSync(path),
      ]) {
        const copy = copied();
        damage(join(copy, name));
        expect(await refusal(copy)).toContain(copy);
      }
    }
  });

  it('is restored without what an ended backup has left in it', async () => {
    const copy = copied();
    writeFileSync(join(copy, 'files', 'file.new'), 'x');
    writeFileSync(join(copy, 'files', 'a'.repeat(64)), 'x');
    const target = join(newFolder(), 'data');
    await restore(copy, target);
    expect(Object.keys(contentsOf(target))).toHaveLength(manifest.files.length);
  });
});

it('a backup that is not there is said to be so', async () => {
  expect(await refusal(join(parent, 'nothing'))).toMatch(/There is no backup .*nothing/);
});

it('a folder that has something in it is not restored into', async () => {
  const target = newFolder();
  writeFileSync(join(target, 'mine'), 'x');
  await expect(restore(file, target)).rejects.toThrow(/is not empty, it has mine in it: move it away first/);
  expect(contentsOf(target)).toEqual({ mine: 'x' });
});

describe('a log that is damaged', () => {
  let healthy: string;
  beforeAll(async () => void (healthy = await aFolder(processorsOf, 400, tinyJournalBytes)));

  it.each(['sealed', 'newest', 'journal'] as const)('in a %s file is not copied, and leaves nothing', async (kind) => {
    const data = join(newFolder(), 'data');
    cpSync(healthy, data, { recursive: true });
    const path = filesOf(data, kind).at(-1)!;
    const bytes = readFileSync(path);
    // Behind the mark there is a block, or the first commit.
    bytes[40]! ^= 1;
    writeFileSync(path, bytes);
    const to = newFolder();
    for (const name of ['new', 'new.tar']) await expect(backup({ data }, join(to, name))).rejects.toMatchObject({ code: 'log_corrupt' });
    expect(readdirSync(to)).toEqual(['new']);
    expect(() => manifestOf(join(to, 'new'))).toThrow(/has no MANIFEST/);
  });
});

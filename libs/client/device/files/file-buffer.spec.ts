import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { isLong, Random } from '#testing';
import type { BufferListener } from '../buffer.js';
import { batchOf, bufferContract, numberOf } from '../test-buffer.js';
import { FileBuffer } from './file-buffer.js';
import { headBytes } from './records.js';

const mib = 1024 * 1024;

let root: string;
let made = 0;
const folderOf = (): string => join(root, `${made++}`);

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'headwater-'));
});

afterAll(() => rm(root, { recursive: true }));

describe('FileBuffer', () => {
  bufferContract((limits, listener) => Promise.resolve(new FileBuffer(folderOf(), limits, listener)));
});

const lost = { points: 0, errors: [] as unknown[] };
const listener: BufferListener = { dropped: (points) => (lost.points += points), failed: (error) => lost.errors.push(error) };

beforeEach(() => {
  lost.points = 0;
  lost.errors = [];
});

const openIn = (folder: string, maxBytes = 64 * mib): FileBuffer => new FileBuffer(folder, { maxBytes, full: 'drop-oldest' }, listener);

async function restOf(buffer: FileBuffer): Promise<number[]> {
  const numbers = [];
  for (let some = await buffer.take(1000, mib); some.length > 0; some = await buffer.take(1000, mib)) {
    numbers.push(...some.map(numberOf));
    buffer.settle(some);
  }
  return numbers;
}

const upTo = (end: number, start = 0): number[] => Array.from({ length: end - start }, (_, at) => start + at);

describe('a folder that is opened again', () => {
  it('gives what was not settled, in its order, and then what is new', async () => {
    const folder = folderOf();
    const first = openIn(folder);
    for (let at = 0; at < 3000; at++) first.add(batchOf(at, 1, 1000));
    first.settle(await first.take(500, 10 * mib));
    await first.take(100, mib);
    await first.close();
    const second = openIn(folder);
    for (let at = 3000; at < 3010; at++) second.add(batchOf(at));
    await second.opened;
    expect(second.all.points).toBe(2510);
    expect(await restOf(second)).toEqual(upTo(3010, 500));
    await second.close();
    expect(lost).toEqual({ points: 0, errors: [] });
    expect(await readdir(folder)).toEqual([]);
  });

  it('keeps batches of any text', async () => {
    const folder = folderOf();
    const first = openIn(folder);
    const text = '{"metric":"HWB1 ü 𝒳","value":1}';
    first.add({ text, points: 1, bytes: Buffer.byteLength(text) });
    await first.close();
    const second = openIn(folder);
    expect((await second.take(1, mib)).map((batch) => batch.text)).toEqual([text]);
    await second.close();
  });

  it('goes on after many restarts in which little happens', async () => {
    const folder = folderOf();
    for (let run = 0; run < 20; run++) {
      const buffer = openIn(folder);
      buffer.add(batchOf(run));
      if (run % 3 === 2) buffer.settle(await buffer.take(1, mib));
      await buffer.close();
    }
    const last = openIn(folder);
    expect(await restOf(last)).toEqual(upTo(20, 6));
    await last.close();
    expect(lost).toEqual({ points: 0, errors: [] });
  });
});

describe('a folder that somebody has', () => {
  it('is not opened a second time, and says who has it', async () => {
    const folder = folderOf();
    const first = openIn(folder);
    expect(() => openIn(folder)).toThrow(
      expect.objectContaining({ code: 'buffer_in_use', message: expect.stringContaining(`"pid":${process.pid}`) }),
    );
    await first.close();
    await openIn(folder).close();
  });

  it.each([
    ['a process that is gone', { host: '', pid: 2 ** 22 + 1, began: '' }],
    ['a process whose number another one has now', { host: '', pid: process.pid, began: 'another boot 1' }],
  ])('is opened when it was %s', async (_, holder) => {
    const folder = folderOf();
    await openIn(folder).close();
    await writeFile(join(folder, 'lock'), JSON.stringify({ ...holder, host: hostname() }));
    await openIn(folder).close();
    expect(await readdir(folder)).toEqual([]);
  });
});

// Elsewhere there is no file that is always full.
const onLinux = process.platform === 'linux' ? it : it.skip;

describe('a disk that fails', () => {
  it('does not stop the buffer, which writes again as soon as that works', async () => {
    const folder = folderOf();
    const buffer = openIn(folder);
    const block = join(folder, '0000000000000000.points');
    await rm(folder, { recursive: true });
    await writeFile(folder, 'not a folder');
    for (let at = 0; at < 100; at++) buffer.add(batchOf(at, 1, 1000));
    await buffer.saved();
    expect(lost.errors[0]).toMatchObject({ code: 'buffer_failed' });
    const some = await buffer.take(10, mib);
    expect(some.map(numberOf)).toEqual(upTo(10));
    buffer.settle(some);
    await rm(folder);
    await mkdir(folder);
    await buffer.saved();
    expect((await stat(block)).size).toBeGreaterThan(90_000);
    await buffer.close();
    const again = openIn(folder);
    expect(await restOf(again)).toEqual(upTo(100, 10));
    await again.close();
  });

  onLinux('takes no more room for each time that it tries', async () => {
    const folder = folderOf();
    const buffer = openIn(folder, mib);
    await symlink('/dev/full', join(folder, '0000000000000000.points'));
    buffer.add(batchOf(0, 1, 1000));
    const room = mib - 1000 - 2 * headBytes;
    expect([buffer.hasRoom(room), buffer.hasRoom(room + 1)]).toEqual([true, false]);
    for (let tries = 0; tries < 10; tries++) await buffer.saved();
    expect(lost.errors[0]).toMatchObject({ message: expect.stringContaining('ENOSPC') });
    expect(buffer.hasRoom(room)).toBe(true);
    await buffer.close();
  });

  it('never takes more memory than there may be', async () => {
    const folder = folderOf();
    const buffer = openIn(folder);
    await rm(folder, { recursive: true });
    await writeFile(folder, 'not a folder');
    for (let at = 0; at < 1000; at++) buffer.add(batchOf(at, 1, 50_000));
    expect(lost.points).toBeGreaterThan(800);
    expect(buffer.all.bytes).toBeLessThan(10 * mib);
    expect(buffer.all.points).toBe(1000 - lost.points);
    expect((await restOf(buffer)).at(-1)).toBe(999);
    await buffer.close();
  });
});

describe('damage', () => {
  const batches = 150;
  /** Places of each kind, 510 in all; many more with `FAULTS=long npm run jest -- file-buffer`. */
  const places = isLong ? 1000 : 85;
  let sound: { name: string; bytes: Buffer }[];

  beforeAll(async () => {
    const folder = folderOf();
    const buffer = openIn(folder, mib);
    for (let at = 0; at < batches; at++) buffer.add(batchOf(at, 1 + (at % 5), 20 + ((at * 37) % 5900)));
    await buffer.close();
    sound = await Promise.all((await readdir(folder)).sort().map(async (name) => ({ name, bytes: await readFile(join(folder, name)) })));
    expect(sound.length).toBeGreaterThan(1);
  });

  const pointsOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + 1 + (number % 5), 0);

  const kinds = [
    'a byte is another',
    'a block is empty',
    'the end is missing',
    'a block stands twice',
    'a file is missing',
    'a block is noise',
  ] as const;

  it.each(kinds)('%s: what is whole is found, in its order, and the rest is counted', async (kind) => {
    for (let seed = 0; seed < places; seed++) {
      lost.points = 0;
      const random = new Random(seed * 6 + kinds.indexOf(kind));
      const files = sound.map(({ name, bytes }) => ({ name, bytes: Buffer.from(bytes) }));
      damage(files, kind, random);
      const folder = folderOf();
      await mkdir(folder);
      for (const { name, bytes } of files) await writeFile(join(folder, name), bytes);
      const buffer = openIn(folder, mib);
      const added = seed % 10 === 0 ? [batches] : [];
      for (const number of added) buffer.add(batchOf(number, 1 + (number % 5)));
      const numbers = await restOf(buffer);
      await buffer.close();
      expect({ seed, numbers }).toEqual({ seed, numbers: [...new Set(numbers)].sort((a, b) => a - b) });
      expect({ seed, added: numbers.slice(numbers.length - added.length) }).toEqual({ seed, added });
      const found = numbers.slice(0, numbers.length - added.length);
      // What is missing at the ends may as well have been settled, or never written.
      const between = upTo(batches).filter((number) => number > found[0]! && number < found.at(-1)!);
      expect({ seed, lost: lost.points }).toEqual({ seed, lost: pointsOf(between) - pointsOf(found.slice(1, -1)) });
      const least = ['the end is missing', 'a file is missing'].includes(kind) ? 0 : batches * 0.9;
      expect(found.length).toBeGreaterThanOrEqual(least);
    }
    expect(lost.errors).toEqual([]);
  });

  function damage(files: { name: string; bytes: Buffer }[], kind: (typeof kinds)[number], random: Random): void {
    const below = (end: number): number => random.whole(0, end - 1);
    const at = below(files.length);
    const { bytes } = files[at]!;
    const place = below(bytes.length);
    const block = bytes.subarray(place, place + 512);
    if (kind === 'a byte is another') bytes[place]! ^= 1 + below(255);
    if (kind === 'a block is empty') block.fill(0);
    if (kind === 'the end is missing') files[at]!.bytes = bytes.subarray(0, place);
    if (kind === 'a block stands twice') files[at]!.bytes = Buffer.concat([bytes.subarray(0, place), block, bytes.subarray(place)]);
    if (kind === 'a file is missing') files.splice(at, 1);
    if (kind === 'a block is noise') for (let offset = 0; offset < block.length; offset++) block[offset] = below(256);
  }
});

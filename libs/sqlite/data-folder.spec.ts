import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { DataFolderError, folderFormats, openDataFolder } from './data-folder.js';

const emptyFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'headwater-folder-'));

describe('a data folder', () => {
  it('is made with everything above it and says what it is', async () => {
    const dir = join(await emptyFolder(), 'a', 'b');
    const folder = openDataFolder(dir);
    folder.noteFormat();
    folder.release();
    expect(await readFile(join(dir, 'FORMAT'), 'utf8')).toBe('headwater 2\n');
  });

  it('never has a lower format than before', async () => {
    const dir = await emptyFolder();
    const folder = openDataFolder(dir);
    folder.noteFormat(folderFormats.dropped);
    folder.noteFormat();
    folder.release();
    expect(await readFile(join(dir, 'FORMAT'), 'utf8')).toBe('headwater 3\n');
  });

  it('is one storage’s at a time, and whoever comes second hears which folder it is', async () => {
    const dir = await emptyFolder();
    const first = openDataFolder(dir);
    expect(() => openDataFolder(dir)).toThrow(DataFolderError);
    expect(() => openDataFolder(dir)).toThrow(`The data folder ${dir} is in use`);
    first.release();
    openDataFolder(dir).release();
  });

  it('that is a file is refused with its name', async () => {
    const path = join(await emptyFolder(), 'file');
    await writeFile(path, '');
    expect(() => openDataFolder(path)).toThrow(`The data folder ${path} cannot be used: `);
  });

  it.each([
    ['headwater 5\n', 'has format 5 and this version knows formats up to 4'],
    ['something else', 'is not one of ours'],
    ['', 'is not one of ours'],
  ])('with FORMAT %j is refused before anything is touched', async (format, why) => {
    const dir = await emptyFolder();
    await writeFile(join(dir, 'FORMAT'), format);
    expect(() => openDataFolder(dir)).toThrow(why);
    expect(await readdir(dir)).toEqual(['FORMAT']);
  });
});

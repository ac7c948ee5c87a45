import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { onFolder, type Folders } from '#runtime';
import { projectorsOf } from '../../../apps/processors/projectors-of.js';
import { startEmbedded } from '../start-embedded.js';
import { expectOldAnswers } from './expect-old-answers.js';
import { oldAnswers, oldFolderNames, unpackedOldFolder } from './old-folders.js';

const bytesOf = (dir: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(join(dir, name)).isFile())
      .map((name) => [name, readFileSync(join(dir, name), 'base64')]),
  );

describe.each(oldFolderNames)('a data folder of an earlier version, %s,', (name) => {
  it('answers what that version answered, again after a stop, and no answer differs from its log', async () => {
    const dir = unpackedOldFolder(name);
    for (let times = 0; times < 2; times++) await expectOldAnswers(dir, oldAnswers(name));
    expect(await onFolder(({ verify }) => verify(dir, projectorsOf))).toMatchObject({ differences: 0, first: [] });
  });

  it('is refused before anything is touched when a newer version has written it', async () => {
    const dir = unpackedOldFolder(name);
    writeFileSync(join(dir, 'FORMAT'), 'headwater 99\n');
    const before = bytesOf(dir);
    const refusal = `The data folder ${dir} has format 99 and this version knows formats up to`;
    await expect(startEmbedded({ dataDir: dir })).rejects.toThrow(refusal);
    const commands: readonly ((folders: Folders) => Promise<unknown>)[] = [
      ({ rebuild }) => rebuild(dir, projectorsOf),
      ({ verify }) => verify(dir, projectorsOf),
      ({ trim }) => trim(dir, { keeps: () => true, sinceMs: undefined, confirmed: true }),
      ({ backup }) => backup({ data: dir }, `${dir}.backup`),
    ];
    for (const command of commands) await expect(onFolder<unknown>(command)).rejects.toThrow(refusal);
    expect(bytesOf(dir)).toEqual(before);
  });
});

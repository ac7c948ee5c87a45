import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { events, points, topics } from '#topics';
import { DataFolderError } from './data-folder.js';
import { keepPartitionCounts } from './partition-counts.js';
import { openStorage } from './storage.js';

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'headwater-partitions-'));

describe('the number of partitions that a folder was made with', () => {
  it('stays, and new topics join', () => {
    const folder = newFolder();
    keepPartitionCounts(folder, [points]);
    keepPartitionCounts(folder, [points, events]);
    keepPartitionCounts(folder, [events]);
    expect(JSON.parse(readFileSync(join(folder, 'partitions.json'), 'utf8'))).toEqual({ [points.name]: 24, [events.name]: 24 });
  });

  it.each([
    ['more', 48],
    ['fewer', 1],
  ])('%s than that is refused with both numbers', (_, partitions) => {
    const folder = newFolder();
    keepPartitionCounts(folder, [points, events]);
    const attempt = (): void => keepPartitionCounts(folder, [{ ...points, partitions }, events]);
    expect(attempt).toThrow(DataFolderError);
    expect(attempt).toThrow(
      `The data folder ${folder} has telemetry.points.v1 in 24 partitions and this version cuts it into ${partitions}: `,
    );
  });

  it.each([[''], ['{'], ['null'], ['{"telemetry.points.v1":"24"}']])('is not guessed from a file that says %j', (text) => {
    const folder = newFolder();
    writeFileSync(join(folder, 'partitions.json'), text);
    expect(() => keepPartitionCounts(folder, [points])).toThrow('partitions.json');
  });

  it('stops a storage from opening before it has made a log, and gives the folder back', async () => {
    const folder = newFolder();
    keepPartitionCounts(
      folder,
      topics.map((topic) => ({ ...topic, partitions: 2 * topic.partitions })),
    );
    for (const attempt of [1, 2]) await expect(openStorage(folder).then(() => attempt)).rejects.toThrow('partitions');
    expect(readdirSync(folder).filter((name) => name.startsWith('log'))).toEqual([]);
  });
});

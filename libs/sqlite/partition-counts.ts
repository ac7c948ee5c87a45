import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AnyTopic } from '#log';
import { DataFolderError } from './data-folder.js';
import { writeDurably } from './durable-file.js';

/** The file beside the log with the number of partitions that each topic was made with. */
export const partitionCountsName = 'partitions.json';

type Counts = Readonly<Record<string, number>>;

/**
 * Remembers how many partitions each topic has. Another number would send keys to other partitions than those that hold their records.
 * @throws DataFolderError when the folder was made with another one, before anything in it is touched.
 */
export function keepPartitionCounts(folder: string, topics: readonly AnyTopic[]): void {
  const path = join(folder, partitionCountsName);
  const known = existsSync(path) ? parse(folder, readFileSync(path, 'utf8')) : {};
  for (const { name, partitions } of topics) {
    const made = known[name] ?? partitions;
    if (made === partitions) continue;
    throw new DataFolderError(
      `The data folder ${folder} has ${name} in ${made} partitions and this version cuts it into ${partitions}: ` +
        'start a version that agrees with the folder, or name another folder.',
    );
  }
  if (topics.some(({ name }) => known[name] === undefined)) {
    const counts = { ...known, ...Object.fromEntries(topics.map(({ name, partitions }) => [name, partitions])) };
    writeDurably(path, `${JSON.stringify(counts, undefined, 1)}\n`);
  }
}

function parse(folder: string, text: string): Counts {
  try {
    const counts = JSON.parse(text) as unknown;
    if (typeof counts === 'object' && counts !== null && Object.values(counts).every(Number.isInteger)) return counts as Counts;
  } catch {
    // A file that is not JSON is damaged, as is one with anything but counts.
  }
  throw new DataFolderError(
    `The file ${partitionCountsName} of the data folder ${folder} is damaged: restore it from a copy of the folder.`,
  );
}

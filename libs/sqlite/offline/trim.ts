import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { events, points, presence, sources, sourcesGroup } from '#topics';
import { DataFolderError, openDataFolder } from '../data-folder.js';
import { logFileName } from '../log/fault.js';
import { LogFile, type Trimming } from '../log/log-file.js';
import { removeStore, storeFileName } from '../store-file.js';

export interface TrimOptions {
  /** Whether a source stays with all that it sent. */
  readonly keeps: (sourceId: string) => boolean;
  /** Records of other sources stay too when they were appended before this time, Unix milliseconds. Undefined when none of them stay. */
  readonly sinceMs: number | undefined;
  /** Without it nothing is changed, only counted. */
  readonly confirmed: boolean;
}

export interface Trimmed {
  /** Records of points and events that go, and those that stay. */
  readonly gone: number;
  readonly kept: number;
}

/**
 * Takes sources out of the log of a stopped server, for a folder with more of them than the server's memory holds: nothing but the log's file
 * is opened, a few rows at a time. Records that go leave empty ones in their places, so that no offset changes. The store is removed, and the
 * next start makes it again; the list of sources too. Whenever it is ended, calling it again does the rest.
 *
 * Rejects DataFolderError when there is no log or the folder is in use, and `log_corrupt`.
 */
export async function trim(
  dir: string,
  { keeps, sinceMs, confirmed }: TrimOptions,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<Trimmed> {
  const folder = openDataFolder(dir);
  try {
    const file = join(folder.path, logFileName);
    if (!existsSync(file)) throw new DataFolderError(`The data folder ${folder.path} has no ${logFileName}: there is nothing to trim.`);
    const log = new LogFile(file, Date.now());
    try {
      // The store goes first: one that has records which its log lacks must never be opened.
      if (confirmed) removeStore(join(folder.path, storeFileName));
      const goes = (key: string): boolean => !keeps(key.slice(key.indexOf('/') + 1));
      const trimming: Trimming = { kept: [points.name, events.name], goes, sinceMs: sinceMs ?? -Infinity, confirmed };
      let [gone, kept] = [0, 0];
      for (let next: number | undefined = -1; next !== undefined;) {
        const step = log.trim(next, trimming);
        gone += step.gone;
        kept += step.kept;
        next = step.next;
        onProgress(next ?? log.head, log.head);
        await turn();
      }
      if (confirmed) finish(log, goes);
      return { gone, kept };
    } finally {
      log.close();
    }
  } finally {
    folder.release();
  }
}

/** The list of sources is made again from what the log still has. */
function finish(log: LogFile, goes: (key: string) => boolean): void {
  for (let next: number | undefined = -1; next !== undefined;) next = log.dropKeys(next, [sources.name, presence.name], goes);
  log.rewind(sourcesGroup.name, 'beginning');
  try {
    log.shrink();
  } catch {
    // Without free space for a second copy the file keeps its size, and later records use the space in it.
  }
}

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LogViews } from '#log';
import { topics } from '#topics';
import { openDataFolder } from './data-folder.js';
import { openLog, type OpenLogOptions } from './storage.js';
import { SqliteGroups } from './log/groups.js';
import type { FileLog } from './log/file-log.js';

export interface TestLog {
  readonly dir: string;
  readonly log: FileLog;
  readonly views: LogViews;
  readonly groups: SqliteGroups;
  reopen(): Promise<TestLog>;
  crash(): Promise<TestLog>;
  close(): Promise<void>;
}

/** The log of a data folder without the stores beside it, for tests. */
export async function openTestLog(dir?: string, maxBytes?: number, options: OpenLogOptions = {}): Promise<TestLog> {
  const folder = openDataFolder(dir ?? (await mkdtemp(join(tmpdir(), 'headwater-log-'))));
  const log = await openLog(folder, { ...options, maxBytes });
  const close = (): Promise<void> => log.close().finally(() => folder.release());
  const crash = (): Promise<void> => log.crash().finally(() => folder.release());
  return {
    dir: folder.path,
    log,
    views: new LogViews(log, topics),
    groups: new SqliteGroups(log, topics),
    reopen: () => close().then(() => openTestLog(folder.path, maxBytes, options)),
    crash: () => crash().then(() => openTestLog(folder.path, maxBytes, options)),
    close,
  };
}

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from '@jest/globals';
import { recordLogContract, runnerContract, viewsContract, type LogUnderTest } from '#testing';
import { openStorage } from '../storage.js';

async function openLog(dir?: string): Promise<LogUnderTest> {
  const folder = dir ?? (await mkdtemp(join(tmpdir(), 'headwater-log-')));
  const storage = await openStorage(folder);
  return {
    log: storage.log,
    views: storage.views,
    reopen: () => storage.close().then(() => openLog(folder)),
    crash: () => storage.crash().then(() => openLog(folder)),
    close: () => storage.close(),
  };
}

describe('the log in SQLite', () => {
  recordLogContract(() => openLog());
});

describe('its views', () => {
  viewsContract(() => openLog());
});

describe('a runner on it', () => {
  runnerContract(() => openLog());
});

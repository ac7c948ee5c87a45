import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServers, type TestRun } from './servers.js';

/** Before all suites: what they put into the system's temporary folder goes into one folder of this run instead; servers they need start. */
export default async function openRun(run: TestRun): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'headwater-test-'));
  process.env['TMPDIR'] = process.env['HEADWATER_RUN_FOLDER'] = folder;
  await startServers(run, folder);
}

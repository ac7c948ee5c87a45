import { rmSync } from 'node:fs';
import { stopServers } from './servers.js';

/** After all suites: servers stop, and the folder of this run goes, with whatever a suite or a killed server left in it. */
export default async function closeRun(): Promise<void> {
  await stopServers();
  const folder = process.env['HEADWATER_RUN_FOLDER'];
  if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

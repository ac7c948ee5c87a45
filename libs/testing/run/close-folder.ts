import { rmSync } from 'node:fs';

/** After all suites: the folder of this run goes, with whatever a suite or a killed server left in it. */
export default function closeRunFolder(): void {
  const folder = process.env['HEADWATER_RUN_FOLDER'];
  if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

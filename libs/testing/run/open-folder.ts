import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Before all suites: what they put into the system's temporary folder goes into one folder of this run instead. */
export default function openRunFolder(): void {
  process.env['TMPDIR'] = process.env['HEADWATER_RUN_FOLDER'] = mkdtempSync(join(tmpdir(), 'headwater-test-'));
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders = new Set<string>();
process.once('exit', () => {
  for (const folder of folders) removeFolder(folder);
});

/** A temporary folder that goes away with this process, at the latest. */
export function ownFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `headwater-${name}-`));
  folders.add(folder);
  return folder;
}

export function removeFolder(folder: string): void {
  folders.delete(folder);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onFolder } from '#runtime';

interface Running {
  readonly pid: number;
  readonly url: string;
}

/**
 * Keeps a folder for the cluster of this process until it is released or the process ends, however it ends: the servers of a second one would
 * end those of the first. Rejects when another process has it.
 */
export async function lockFolder(folder: string, url: string): Promise<{ release(): void }> {
  const file = join(folder, 'running');
  const lock = await onFolder(async ({ takeLock }) => takeLock(folder));
  if (!lock) throw new Error(alreadyRunning(folder, file));
  writeFileSync(file, JSON.stringify({ pid: process.pid, url }));
  return {
    release: () => {
      rmSync(file, { force: true });
      lock.release();
    },
  };
}

function alreadyRunning(folder: string, file: string): string {
  const other = 'or name another folder and port with HEADWATER_DATA and HEADWATER_PORT';
  try {
    const { pid, url } = JSON.parse(readFileSync(file, 'utf8')) as Running;
    return `A cluster is already running on ${folder}: process ${pid}, at ${url}. Use it, end it with \`kill ${pid}\`, ${other}.`;
  } catch {
    // It has just begun, or is about to end.
    return `A cluster is already running on ${folder}: end it with Ctrl-C, ${other}.`;
  }
}

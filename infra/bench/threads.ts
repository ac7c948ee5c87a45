import { readdirSync, readFileSync } from 'node:fs';
import { cpuSOf, statS } from './processes.js';

interface Thread {
  readonly name: string;
  readonly cpuS: number;
}

/** How Node names its own threads. Those of the server have names that say what they do. */
const known: ReadonlyMap<string, string> = new Map([
  ['libuv-worker', 'libuv pool'],
  ['node-V8Worker', 'V8 workers'],
  ['DelayedTaskSche', 'V8 workers'],
]);

/**
 * Begins to charge the threads of a process. The function that it returns tells the CPU of each since then, seconds; threads of one name are one.
 * What threads have used that have ended is among `others`, so that the sum is what the process has used.
 */
export function threadMeter(pid: number): () => Readonly<Record<string, number>> {
  const [totalS, before] = [cpuSOf(pid), threadsOf(pid)];
  return () => {
    let others = cpuSOf(pid) - totalS;
    const used: Record<string, number> = {};
    for (const [id, { name, cpuS }] of threadsOf(pid)) {
      const usedS = cpuS - (before.get(id)?.cpuS ?? 0);
      used[name] = (used[name] ?? 0) + usedS;
      others -= usedS;
    }
    return { ...used, others };
  };
}

function threadsOf(pid: number): ReadonlyMap<string, Thread> {
  const folder = `/proc/${pid}/task`;
  const threads = new Map<string, Thread>();
  for (const id of readdirSync(folder)) {
    try {
      const name = readFileSync(`${folder}/${id}/comm`, 'utf8').trim();
      threads.set(id, { name: id === `${pid}` ? 'main' : (known.get(name) ?? name), cpuS: statS(`${folder}/${id}/stat`, 2) });
    } catch {
      // The thread has ended since the folder was read.
    }
  }
  return threads;
}

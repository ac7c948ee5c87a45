import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { endWithUs } from '../servers/index.js';

/** User and system time of a process and of those it has waited for, so far, seconds. */
export function cpuSOf(pid: number): number {
  return statS(`/proc/${pid}/stat`, 4);
}

/** The first so many times that a `stat` of `/proc` tells, seconds: user and system time, and those of processes that were waited for. */
export function statS(path: string, times: 2 | 4): number {
  const fields = readFileSync(path, 'utf8').split(') ')[1]!.split(' ');
  return fields.slice(11, 11 + times).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}

export const peakMemoryMbOf = (pid: number): number => statusKbOf(pid, 'VmHWM') / 1024;
export const memoryMbOf = (pid: number): number => statusKbOf(pid, 'VmRSS') / 1024;

function statusKbOf(pid: number, field: string): number {
  const [, kb] = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return Number(kb);
}

/**
 * Starts a file of this folder as a process, which is told what to do. Resolves, when it is ready to go, to what makes it go, and that to its
 * report.
 */
export async function ready(file: string, order: object): Promise<() => Promise<unknown>> {
  const child = fork(new URL(file, import.meta.url), { serialization: 'advanced', execArgv: ['--no-warnings'] });
  endWithUs(child);
  child.send(order);
  await heard(child);
  return async () => {
    child.send('go');
    const report = await heard(child);
    child.disconnect();
    return report;
  };
}

/** The other side: makes ready for the order, and works when it is told to. */
export async function work(prepare: (order: never) => Promise<() => Promise<unknown>>): Promise<void> {
  const [order] = (await once(process, 'message')) as [never];
  const go = await prepare(order);
  process.send!('ready');
  await once(process, 'message');
  process.send!(await go());
}

/** CPU of this process during some work, seconds. */
export async function ownCpuS(task: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await task();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** Its next message. Rejects when it ends without one. */
async function heard(child: ChildProcess): Promise<unknown> {
  const ended = Promise.withResolvers<never>();
  const tell = (code: number | null): void => ended.reject(new Error(`a process of the bench ended with ${code}: the run is void`));
  child.once('exit', tell);
  try {
    const [message] = (await Promise.race([once(child, 'message'), ended.promise])) as [unknown];
    return message;
  } finally {
    child.off('exit', tell);
  }
}

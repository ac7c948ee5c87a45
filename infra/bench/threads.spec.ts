import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from '@jest/globals';
import { cpuSOf } from './processes.js';
import { until } from './server-process.js';
import { threadMeter } from './threads.js';

/** A thread that works for 0.3 s of CPU, says so and lives on. */
function busyThread(name: string): Worker {
  const code = `
    const { parentPort } = require('node:worker_threads');
    while (process.threadCpuUsage().user < 300_000);
    parentPort.on('message', () => {});
    parentPort.postMessage('done');`;
  return new Worker(code, { eval: true, name });
}

const onLinux = process.platform === 'linux' ? describe : describe.skip;

onLinux('what a process uses', () => {
  it('is told by thread: of those that live by their names, of those that have ended with the others', async () => {
    const used = threadMeter(process.pid);
    const before = cpuSOf(process.pid);
    const [one, other] = [busyThread('log'), busyThread('log')];
    await Promise.all([once(one, 'message'), once(other, 'message')]);
    const living = used();
    expect(living['log']).toBeGreaterThan(0.5);
    expect(living['main']).toBeGreaterThanOrEqual(0);
    await one.terminate();
    // The kernel may list a thread for a moment after its end.
    await until(async () => used()['log']! < living['log']! - 0.2, 5_000);
    const left = used();
    expect(left['others']).toBeGreaterThan(living['others']! + 0.2);
    expect(Object.values(left).reduce((sum, cpuS) => sum + cpuS, 0)).toBeCloseTo(cpuSOf(process.pid) - before, 1);
    await other.terminate();
  });
});

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';

/**
 * Loaded before a program, kills its process, as kill -9 does, at one of the calls by which its threads change files: at call `DEATH_AT`. A write that
 * is the last call is torn. With 0 nothing is killed, and the process says in the end how many calls there were.
 */
const deathAt = Number(process.env['DEATH_AT']);
const count = isMainThread ? new Int32Array(new SharedArrayBuffer(4)) : (getEnvironmentData('deaths') as Int32Array);
if (isMainThread) setEnvironmentData('deaths', count);
const writeSync = fs.writeSync;

type Calls = Record<string, (this: unknown, ...given: unknown[]) => unknown>;

function countCalls(of: object, names: readonly string[]): void {
  const calls = of as Calls;
  for (const name of names) {
    const real = calls[name]!;
    calls[name] = function (...given) {
      const isRead = name === 'openSync' && (given[1] ?? 'r') === 'r';
      if (isRead || Atomics.add(count, 0, 1) + 1 !== deathAt) return real.apply(this, given);
      if (name === 'writeSync') writeHalf(given);
      return process.kill(process.pid, 'SIGKILL');
    };
  }
}

function writeHalf([file, bytes, from = 0, length, at = null]: unknown[]): void {
  if (!(bytes instanceof Uint8Array)) return;
  writeSync(file as number, bytes, from as number, ((length as number | undefined) ?? bytes.length) >> 1, at as number | null);
}

countCalls(fs, ['openSync', 'writeSync', 'writeFileSync', 'fsyncSync', 'renameSync', 'rmSync', 'rmdirSync', 'mkdirSync', 'ftruncateSync']);
countCalls(DatabaseSync.prototype, ['exec']);
countCalls(StatementSync.prototype, ['run']);
syncBuiltinESMExports();
if (isMainThread && deathAt === 0) process.on('exit', () => writeSync(2, `${count[0]} calls\n`));

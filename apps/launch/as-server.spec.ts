import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';

/** How large the heap of a thread may become that asks for a young generation of some megabytes. */
const threadLimit = `
  const { once } = await import('node:events');
  const { Worker } = await import('node:worker_threads');
  const say = "require('node:worker_threads').parentPort.postMessage(require('node:v8').getHeapStatistics().heap_size_limit)";
  const [limit] = await once(new Worker(say, { eval: true, resourceLimits: { maxYoungGenerationSizeMb: 3 } }), 'message');
  console.log(limit);`;

const folder = mkdtempSync(join(tmpdir(), 'headwater-server-'));
const main = join(folder, 'main.mjs');
const without = join(folder, 'without.mjs');
writeFileSync(
  main,
  `import { asServer } from ${JSON.stringify(new URL('as-server.js', import.meta.url))};
  await asServer(async () => {
    const { pid, execArgv, env, argv } = process;
    const { MALLOC_ARENA_MAX: arenas, GLIBC_TUNABLES: tunables } = env;
    console.log(JSON.stringify({ pid, flags: execArgv, arenas, tunables, words: argv.slice(2) }));
    process.exitCode = 7;
  }, ['--heap-growing-percent=200']);`,
);
writeFileSync(without, 'process.execve = undefined;');
const threads = join(folder, 'threads.mjs');
const alone = join(folder, 'alone.mjs');
writeFileSync(
  threads,
  `import { asServer } from ${JSON.stringify(new URL('as-server.js', import.meta.url))};\nawait asServer(async () => {${threadLimit}});`,
);
writeFileSync(alone, threadLimit);

async function start(flags: readonly string[], told: Readonly<Record<string, string>>) {
  const { MALLOC_ARENA_MAX: _, GLIBC_TUNABLES: __, ...env } = process.env;
  const child = spawn(process.execPath, [...flags, main, 'a', 'b c'], { env: { ...env, ...told } });
  const ended = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await ended) as [number | null];
  const { pid, ...said } = JSON.parse(stdout) as { pid: number };
  return { code, stderr, isSameProcess: pid === child.pid, ...said };
}

const set = ['--max-semi-space-size=8', '--no-allocation-site-pretenuring', '--heap-growing-percent=200'];
const own = '--max-semi-space-size=32';
const unable = ['--import', without];
const forbidden = ['--permission', '--allow-fs-read=*'];

const memory = { arenas: '2', tunables: 'glibc.malloc.hugetlb=1' };
const checked = 'glibc.malloc.check=3';

describe('a server', () => {
  it.each([
    ['has its memory set, and what it asks for itself', [], {}, set, memory],
    ['keeps its other flags', ['--no-warnings'], {}, [...set, '--no-warnings'], memory],
    ['that was told the size of its young generation keeps that', [own], {}, [own], {}],
    ['that was told how many pools to keep keeps that', [], { MALLOC_ARENA_MAX: '4' }, set, { ...memory, arenas: '4' }],
    ['that was told how to get memory keeps that', [], { GLIBC_TUNABLES: checked }, set, { ...memory, tunables: checked }],
    ['starts as it is where no process can become another', unable, {}, unable, {}],
    ['starts as it is where that is forbidden', forbidden, {}, forbidden, {}],
  ])('%s', async (_, flags, told, expected, its) => {
    const words = ['a', 'b c'];
    const started = await start(flags, told);
    expect(started).toEqual({ code: 7, stderr: '', isSameProcess: true, flags: expected, words, ...its });
  });

  it.each([[[]], [[own]]])('leaves the memory of other threads as they ask for it, started with %j', async (flags) => {
    const [inServer, byItself] = await Promise.all(
      [[...flags, threads], [alone]].map((words) => text(spawn(process.execPath, words).stdout)),
    );
    expect(inServer).toBe(byItself);
  });
});

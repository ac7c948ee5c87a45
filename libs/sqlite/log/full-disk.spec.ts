import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from '@jest/globals';
import { until } from '#testing';

/** Appends records of 100 KB until its input ends and prints the outcome of each; then it prints what the log holds. */
const program = `
  const [storage, log, topics] = await Promise.all(['sqlite', 'log', 'topics'].map((lib) => import(process.env.LIBS + lib + '/index.js')));
  const { log: it, close } = await storage.openStorage(process.env.DIR);
  const noise = () => Array.from({ length: 4000 }, () => String.fromCharCode(33 + 90 * Math.random())).join('');
  const event = (n, place) => ({ metric: 'm', timestampMs: 1 + n, value: noise(), isJson: false, tags: '', place, ordinal: 0 });
  const batch = (n) => ({ orgId: 'o', sourceId: 's', receivedMs: n, origin: 'source', events: Array.from({ length: 25 }, (_, at) => event(n, at)) });
  let ended = false;
  process.stdin.on('end', () => (ended = true)).resume();
  for (let n = 1; !ended; n++) {
    await it.append([log.entry(topics.events, batch(n))]).then(() => console.log('ok', n), (error) => console.log(error.code, n));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await it.append([log.entry(topics.sources, { orgId: 'o', sourceId: 'end', firstReceivedMs: 0, lastReceivedMs: 0 })]);
  const done = Promise.withResolvers();
  const handler = async (records) => {
    for (const { topic, value } of records) topic === topics.sources ? done.resolve() : console.log('has', value.events[0].timestampMs - 1);
  };
  const consumed = [topics.events, topics.sources];
  const consumer = await it.consume({ group: 'g', topics: consumed, handler, unreadable: console.error, stopped: console.error });
  await done.promise;
  await consumer.stop();
  await close();
`;

// Elsewhere there is no prlimit to make room with.
const onLinux = process.platform === 'linux' ? it : it.skip;

describe('a log whose disk is full', () => {
  onLinux('refuses what it cannot write, lives on, and takes records again once there is room', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'headwater-full-'));
    const file = join(dir, 'appending.mjs');
    await writeFile(file, program);
    const env = { ...process.env, DIR: join(dir, 'data'), LIBS: new URL('../../', import.meta.url).href };
    const child = spawn('sh', ['-c', 'ulimit -S -f 3000; exec "$0" "$1"', process.execPath, file], {
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines: string[] = [];
    const reading = createInterface(child.stdout).on('line', (line) => lines.push(line));
    const exited = Promise.all([once(child, 'exit'), once(reading, 'close')]);
    const refused = (): number => lines.filter((line) => line.startsWith('log_unavailable')).length;
    const taken = (): string[] => lines.filter((line) => line.startsWith('ok')).map((line) => line.slice(3));

    await until('some are refused', () => refused() >= 3);
    expect(taken().length).toBeGreaterThan(0);
    const before = taken().length;
    execFileSync('prlimit', ['--pid', `${child.pid}`, '--fsize=unlimited']);
    await until('more are taken', () => taken().length > before + 5);
    child.stdin.end();
    expect((await exited)[0]).toEqual([0, null]);
    expect(lines.filter((line) => line.startsWith('has')).map((line) => line.slice(4))).toEqual(taken());
  });
});

import { chmodSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { JavaServer } from './java-server.js';

/** A `java` that says a version or serves until it is told to end. */
const script = `#!/bin/sh
if [ "$1" = -version ]; then echo 'openjdk version "21"'; exit; fi
echo it is up; touch up
while [ ! -e end ]; do sleep 0.02; done
echo the disk is full >&2; exit 3
`;

let folder: string;
const home = process.env['JAVA_HOME'];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headwater-java-'));
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/java'), script);
  chmodSync(join(folder, 'bin/java'), 0o755);
  process.env['JAVA_HOME'] = folder;
});
afterEach(() => {
  delete process.env['JAVA_HOME'];
  if (home !== undefined) process.env['JAVA_HOME'] = home;
});

const start = (): Promise<JavaServer> =>
  JavaServer.start({ name: 'The server', args: [], folder, serves: async () => existsSync(join(folder, 'up')) });

it('a server that ends by itself says how, and what it said last', async () => {
  const server = await start();
  writeFileSync(join(folder, 'end'), '');
  expect(await server.ended).toBe('The server has ended by itself (exit code 3). It said last:\n  it is up\n  the disk is full');
});

it('a server that is killed from outside says with which signal', async () => {
  const server = await start();
  process.kill(server.pid!, 'SIGKILL');
  expect(await server.ended).toContain('The server has ended by itself (SIGKILL).');
});

it.each(['stop', 'kill'] as const)('a server that we end with %s says nothing', async (how) => {
  const server = await start();
  await (how === 'stop' ? server.stop() : server.kill('SIGKILL'));
  expect(await Promise.race([server.ended, Promise.resolve('nothing')])).toBe('nothing');
});

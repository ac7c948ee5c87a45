/**
 * Kafka, a schema registry, QuestDB, every role as a process and a router, all on this machine until Ctrl-C. Settings are those of the
 * roles; HEADWATER_DATA is the folder that keeps the data between runs, `data/cluster` unless it is said. `environment` in it says where
 * the servers are.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readConfig, roles, startRouter, type Role } from '#runtime';
import { freePorts, isFree } from '../servers/index.js';
import { lockFolder } from './lock-folder.js';
import { RoleProcess } from './role-process.js';
import { startServers } from './servers.js';

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const cli = fileURLToPath(new URL('../../bundled/cli.js', import.meta.url));

async function main(started: AsyncDisposableStack): Promise<string> {
  const beganMs = performance.now();
  const { host, port } = readConfig(process.env);
  const url = `http://localhost:${port}`;
  const folder = resolve(process.env['HEADWATER_DATA'] || 'data/cluster');
  mkdirSync(folder, { recursive: true });
  const lock = await lockFolder(folder, url);
  started.defer(() => lock.release());
  // The only one that is not chosen among those that are free. Before the servers start: that takes half a minute.
  if (!(await isFree(port, host)))
    throw new Error(`Port ${port} of ${host} is taken by another program: end it, or choose another port with HEADWATER_PORT.`);
  const servers = await startServers(folder, say);
  started.defer(() => servers.stop());
  void servers.ended.then(endAll);

  const environment = {
    ...servers.environment,
    HEADWATER_CACHE: join(folder, 'cache'),
    HEADWATER_TRUSTED_PROXIES: '127.0.0.1',
    HEADWATER_PUBLIC_URL: process.env['HEADWATER_PUBLIC_URL'] || url,
    HEADWATER_CHECKPOINT_SECONDS: process.env['HEADWATER_CHECKPOINT_SECONDS'] ?? '2',
    HEADWATER_LOG_LEVEL: process.env['HEADWATER_LOG_LEVEL'] ?? 'warn',
  };
  writeFileSync(join(folder, 'environment'), exported({ ...servers.environment, HEADWATER_CACHE: environment.HEADWATER_CACHE }));
  const init = spawn(process.execPath, [cli, 'init', '--data-plane'], {
    env: { ...process.env, ...environment, HEADWATER_URL: url },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = (await once(init, 'exit')) as [number | null];
  if (code !== 0) throw new Error('The data plane could not be made.');

  const ports = await freePorts(roles.length);
  const processes = new Map<Role, RoleProcess>(
    roles.map((role, at) => [role, new RoleProcess({ role, port: ports[at]!, environment, heard: (line) => say(`[${role}] ${line}`) })]),
  );
  const all = [...processes.values()];
  started.defer(async () => void (await Promise.all(all.map((one) => one.stop()))));
  for (const one of all) one.start();
  await Promise.all(all.map((one) => one.ready()));

  const router = await startRouter({ targets: (role) => [processes.get(role)!.url], host, port });
  started.defer(() => router.close());
  return `ready at ${url} after ${Math.round((performance.now() - beganMs) / 1000)} s; Ctrl-C stops all of it`;
}

/** Lines for a shell, so that commands for operators find the servers of this run. */
const exported = (variables: Readonly<Record<string, string>>): string =>
  Object.entries(variables)
    .map(([name, value]) => `export ${name}='${value}'\n`)
    .join('');

/** Without one of the servers nothing works, and its end is the reason for whatever else is said. */
function endAll(sentence: string): void {
  if (stopping) return;
  say(`${sentence}\nEverything else is ended too.`);
  stop(1);
}

const started = new AsyncDisposableStack();
let stopping: Promise<void> | undefined;
const stop = (code: number): void => {
  if (!stopping) say('stopping');
  stopping ??= started.disposeAsync().then(
    () => process.exit(code),
    () => process.exit(1),
  );
};
process.on('SIGINT', () => stop(0)).on('SIGTERM', () => stop(0));
main(started).then(
  (line) => stopping ?? say(line),
  (error: unknown) => {
    if (!stopping) say((error as Error).message);
    stop(1);
  },
);

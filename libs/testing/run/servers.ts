import { globSync } from 'node:fs';
import { join } from 'node:path';
import { startFromJars } from '../../../infra/cluster/servers.js';
import { fetchServers, type Servers } from '../../../infra/servers/index.js';
import { jars, needServers, serverVariables } from '../server-variables.js';

/** What jest tells about a run, as far as it matters here. */
export interface Run {
  readonly rootDir: string;
  readonly testPathPatterns?: { readonly patterns: readonly string[] };
}

let running: Servers | undefined;

/**
 * Starts the servers that this run needs and that nobody has given, once for all suites, and says where they are: from jars, whose processes
 * suites can kill and freeze, else from containers. Suites named `.faults` start their own, from jars.
 */
export async function startServers(run: Run, folder: string): Promise<void> {
  const shared = !process.env[serverVariables.HEADWATER_KAFKA_BROKERS] && wanted(run, 'cluster');
  if (!shared && !wanted(run, 'faults')) return;
  const noJars = await fetchServers().then(
    () => undefined,
    (cause: Error) => cause,
  );
  if (!noJars) process.env[jars] = 'yes';
  const containers = noJars && (await import('../../../infra/cluster/containers.js'));
  const engine = await containers?.containerEngine();
  if (noJars && (process.env[needServers] || !engine)) return without(noJars);
  if (shared) {
    running = containers ? await containers.startContainers() : await startFromJars(folder, { keptSchemas: false });
    for (const [name, variable] of Object.entries(serverVariables)) process.env[variable] = running.environment[name];
  }
  process.stderr.write(`suites that need Kafka or QuestDB run on servers from ${engine ?? 'jars'}\n`);
}

function without(cause: Error): void {
  if (process.env[needServers]) throw cause;
  process.stderr.write(`suites that need Kafka or QuestDB are not run: ${cause.message}\n`);
}

export async function stopServers(): Promise<void> {
  await running?.stop();
}

/** Whether a suite of this kind is among those of this run. */
function wanted({ rootDir, testPathPatterns }: Run, kind: 'cluster' | 'faults'): boolean {
  const patterns = (testPathPatterns?.patterns ?? []).map((pattern) => new RegExp(pattern, 'i'));
  const suites = globSync(`dist/**/*.${kind}.spec.js`, { cwd: rootDir }).map((path) => join(rootDir, path));
  return suites.some((path) => patterns.length === 0 || patterns.some((pattern) => pattern.test(path)));
}

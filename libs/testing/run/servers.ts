import { globSync } from 'node:fs';
import { join } from 'node:path';
import { fetchServers, startKafka, startQuestDb, startRegistry } from '../../../infra/servers/index.js';
import { jars, needServers, serverVariables } from '../server-variables.js';

/** What jest tells about a run, as far as it matters here. */
export interface Run {
  readonly rootDir: string;
  readonly testPathPatterns?: { readonly patterns: readonly string[] };
}

interface Stoppable {
  stop(): Promise<void>;
}

let running: readonly Stoppable[] = [];

/**
 * Starts the servers that this run needs and that nobody has given, once for all suites, and says where they are. Suites named `.faults`
 * start their own.
 */
export async function startServers(run: Run, folder: string): Promise<void> {
  const shared = !process.env[serverVariables.kafka] && wanted(run, 'cluster');
  if (!shared && !wanted(run, 'faults')) return;
  try {
    await fetchServers();
    process.env[jars] = 'yes';
    if (shared) await startShared(folder);
    process.stderr.write('suites that need Kafka or QuestDB run on servers from jars\n');
  } catch (cause) {
    if (process.env[needServers]) throw cause;
    process.stderr.write(`suites that need Kafka or QuestDB are not run: ${(cause as Error).message}\n`);
  }
}

async function startShared(folder: string): Promise<void> {
  const [kafka, registry, questDb] = await Promise.all([
    startKafka({ folder: join(folder, 'kafka'), brokers: 1 }),
    startRegistry({ folder: join(folder, 'registry') }),
    startQuestDb({ folder: join(folder, 'questdb') }),
  ]);
  running = [kafka, registry, questDb];
  process.env[serverVariables.kafka] = kafka.brokers.join();
  process.env[serverVariables.registry] = registry.url;
  process.env[serverVariables.questDbUrl] = questDb.httpUrl;
  process.env[serverVariables.questDbPg] = questDb.pgUrl;
}

export async function stopServers(): Promise<void> {
  await Promise.all(running.map((server) => server.stop()));
}

/** Whether a suite of this kind is among those of this run. */
function wanted({ rootDir, testPathPatterns }: Run, kind: 'cluster' | 'faults'): boolean {
  const patterns = (testPathPatterns?.patterns ?? []).map((pattern) => new RegExp(pattern, 'i'));
  const suites = globSync(`dist/**/*.${kind}.spec.js`, { cwd: rootDir }).map((path) => join(rootDir, path));
  return suites.some((path) => patterns.length === 0 || patterns.some((pattern) => pattern.test(path)));
}

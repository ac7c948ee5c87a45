import { globSync } from 'node:fs';
import { join } from 'node:path';
import { startKafka, startRegistry } from '../../../infra/servers/index.js';
import { serverVariables } from '../server-variables.js';

/** What jest tells about a run, as far as it matters here. */
export interface Run {
  readonly rootDir: string;
  readonly testPathPatterns?: { readonly patterns: readonly string[] };
}

interface Stoppable {
  stop(): Promise<void>;
}

let running: readonly Stoppable[] = [];

/** Starts the servers that this run needs and that nobody has given, once for all suites, and says where they are. */
export async function startServers(run: Run, folder: string): Promise<void> {
  if (process.env[serverVariables.kafka] || !wanted(run)) return;
  try {
    const [kafka, registry] = await Promise.all([
      startKafka({ folder: join(folder, 'kafka'), brokers: 1 }),
      startRegistry({ folder: join(folder, 'registry') }),
    ]);
    running = [kafka, registry];
    process.env[serverVariables.kafka] = kafka.brokers.join();
    process.env[serverVariables.registry] = registry.url;
    process.stderr.write('suites that need Kafka run on servers from jars\n');
  } catch (cause) {
    process.stderr.write(`suites that need Kafka are not run: ${(cause as Error).message}\n`);
  }
}

export async function stopServers(): Promise<void> {
  await Promise.all(running.map((server) => server.stop()));
}

/** Whether a suite that needs servers is among those of this run. */
function wanted({ rootDir, testPathPatterns }: Run): boolean {
  const patterns = (testPathPatterns?.patterns ?? []).map((pattern) => new RegExp(pattern, 'i'));
  const suites = globSync('dist/**/*.cluster.spec.js', { cwd: rootDir }).map((path) => join(rootDir, path));
  return suites.some((path) => patterns.length === 0 || patterns.some((pattern) => pattern.test(path)));
}

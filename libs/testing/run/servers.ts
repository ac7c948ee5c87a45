import { globSync } from 'node:fs';
import { join } from 'node:path';
import { startFromJars } from '../../../infra/cluster/servers.js';
import { fetchServers, type Servers } from '../../../infra/servers/index.js';
import { jars, needServers, serverVariables } from '../server-variables.js';

/** What jest tells about a run, as far as it matters here. */
export interface TestRun {
  readonly rootDir: string;
  readonly testPathPatterns?: { readonly patterns: readonly string[] };
}

let running: Servers | undefined;

/**
 * Environment variables by which a QuestDB of this run rests between two requests. Each of its workers looks for work without a pause for a
 * second after the last, which takes a third of a core of whoever asks it now and then; a request that finds them asleep waits for up to 10 ms.
 */
const resting = Object.fromEntries(
  ['SHARED', 'SHARED_NETWORK', 'SHARED_QUERY', 'SHARED_WRITE', 'WAL_APPLY', 'MAT_VIEW_REFRESH', 'EXPORT'].flatMap((workers) => [
    [`QDB_${workers}_WORKER_YIELD_THRESHOLD`, '5'],
    [`QDB_${workers}_WORKER_NAP_THRESHOLD`, '10'],
    [`QDB_${workers}_WORKER_SLEEP_THRESHOLD`, '20'],
  ]),
);

/** Compiling what is hot once more, and better, costs a QuestDB that lives for minutes more than it gives back. */
const quickly = '-XX:TieredStopAtLevel=1';

/**
 * Starts the servers that suites of this run share and that nobody has given, once for all of them, and says for each kind of suites what
 * it runs on. From jars where they can be started, as their processes can be killed and frozen; else from containers. Suites named
 * `.faults` start their own, from jars.
 */
export async function startServers(run: TestRun, folder: string): Promise<void> {
  const { JDK_JAVA_OPTIONS: theirs } = process.env;
  Object.assign(process.env, resting, { JDK_JAVA_OPTIONS: theirs ? `${theirs} ${quickly}` : quickly });
  if (wanted(run, 'cluster')) say('suites that share Kafka, a registry and QuestDB', given() ?? (await start(folder)));
  if (wanted(run, 'faults')) say('suites that start servers of their own, to kill them,', await allowOwn());
}

const say = (suites: string, how: string): unknown => process.stderr.write(`${suites} ${how}\n`);

function given(): string | undefined {
  const variables = Object.groupBy(Object.values(serverVariables), (name) => (process.env[name] ? 'set' : 'missing'));
  if (!variables.set) return undefined;
  const run = `run on those that ${variables.set.join(', ')} name`;
  return variables.missing ? `${run}, and where they need ${variables.missing.join(', ')} they are not run` : run;
}

async function start(folder: string): Promise<string> {
  const noJars = await whyNoJars();
  const containers = noJars && (await import('../../../infra/cluster/containers.js'));
  const engine = await containers?.containerEngine();
  if (noJars && !engine) return notRun(noJars);
  running = containers ? await containers.startContainers() : await startFromJars(folder, { keptSchemas: false });
  for (const [name, variable] of Object.entries(serverVariables)) process.env[variable] = running.environment[name];
  return `run on those of this run, from ${engine ?? 'jars'}`;
}

async function allowOwn(): Promise<string> {
  const noJars = await whyNoJars();
  if (noJars) return notRun(noJars);
  process.env[jars] = 'yes';
  return 'run, from jars';
}

function notRun(cause: Error): string {
  if (process.env[needServers]) throw cause;
  return `are not run: ${cause.message}`;
}

let noJars: Promise<Error | undefined> | undefined;
const whyNoJars = (): Promise<Error | undefined> =>
  (noJars ??= fetchServers().then(
    () => undefined,
    (cause: Error) => cause,
  ));

export async function stopServers(): Promise<void> {
  await running?.stop();
}

/** Whether a suite of this kind is among those of this run. */
function wanted({ rootDir, testPathPatterns }: TestRun, kind: 'cluster' | 'faults'): boolean {
  const patterns = (testPathPatterns?.patterns ?? []).map((pattern) => new RegExp(pattern, 'i'));
  const suites = globSync(`dist/**/*.${kind}.spec.js`, { cwd: rootDir }).map((path) => join(rootDir, path));
  return suites.some((path) => patterns.length === 0 || patterns.some((pattern) => pattern.test(path)));
}

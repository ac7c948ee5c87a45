import type { Type } from '@nestjs/common';
import { causes, errorCases, OperatorError, TelemetryError } from '#model';
import type { Backend } from './backend.js';
import { readConfig } from './config.js';
import { anotherKey, ownerText, welcome } from './first-key.js';
import { createLogger } from './logger.js';
import { misspelt } from './misspelt.js';
import { start } from './start.js';

/** The terminal sends Ctrl-C to this process and to npm, which passes it on: signals so close together count as one. */
const echoMs = 500;
/** How often the parent process is looked for. */
const lookMs = 250;

/** Starts a role on a backend, as the process's own work: from its environment until SIGTERM or SIGINT. */
export async function run(role: Type, backend: Backend): Promise<void> {
  try {
    const config = readConfig(process.env);
    const logger = await createLogger(config.logLevel);
    for (const sentence of misspelt(process.env)) logger.warn(sentence);
    const running = await start(role, backend, config, logger, {
      showFirstKey: (url, key, ownerLink) => print(welcome(url, key, ownerLink)),
      showOwnerLink: (link) => print(ownerText(link)),
    });
    let askedMs: number | undefined;
    const stop = (signal: NodeJS.Signals): void => {
      if (askedMs !== undefined) {
        if (performance.now() - askedMs > echoMs) process.exit(1);
        return;
      }
      askedMs = performance.now();
      logger.info(`${signal}: finishing what is under way, then stopping; again to stop at once`);
      running.stop().then(
        () => process.exit(0),
        (error: unknown) => {
          logger.fatal({ err: error }, 'could not stop in order');
          process.exit(1);
        },
      );
    };
    // A role that was told to stop before it had opened has not failed.
    running.opened.catch((error: unknown) => askedMs === undefined && fail(error));
    process.on('SIGTERM', stop).on('SIGINT', stop);
    onEndOfNpm(() => askedMs === undefined && stop('SIGTERM'));

    const places = { ...(backend.makesFirstKey && { data: config.dataDir }), metrics: `${running.adminUrl}/metrics` };
    logger.info(places, `listening on ${running.url}`);
    if (!running.firstKey && backend.makesFirstKey) logger.info(anotherKey(config.dataDir));
  } catch (error) {
    fail(error);
  }
}

/** Calls `ended` when the shell has ended in which npm runs this process: some shells end at a signal without passing it on. */
function onEndOfNpm(ended: () => void): void {
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    ended();
  }, lookMs).unref();
}

/** Resolves when the text is written. */
function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

function fail(error: unknown): never {
  process.stderr.write(`${reason(error)}\n`);
  process.exit(1);
}

/** Why the start failed: sentences where somebody can mend the cause, else a stack. */
function reason(error: unknown): string | undefined {
  if (error instanceof OperatorError) return error.message;
  if (error instanceof TelemetryError) {
    // The remedy of what is only unavailable is for clients: there is no Retry-After here.
    const remedy = error.retryable ? 'Mend that, such as a full disk, and start again.' : errorCases[error.code].remedy;
    return `${error.retryable ? causes(error) : error.message.replace(/\.$/, '')}. ${remedy}`;
  }
  return (error as Error).stack;
}

import { Keyring } from '#edge';
import { TelemetryError } from '#model';
import { openAdapters, type Adapters, type Report } from './adapters.js';
import { compareGenerations, type Comparison } from './compare-generations.js';
import { StartError } from './config.js';
import { firstKey } from './first-key.js';
import { moveGenerations } from './live-generations.js';
import { checkBeside, giveUp, makeNext, moveReaders, recorded, taken, type GenerationWatcher } from './next-generation.js';
import type { Config } from './settings.js';

export interface ClusterVerification extends Comparison {
  /** Whether readers use the new generation since. */
  readonly repaired: boolean;
}

const firstGeneration = 1;
/** Servers that start at the same time take less. */
const serversMs = 120_000;

/**
 * Makes topics, schemas, tables and the first organization with a payment method on file and its key; what is there already stays as it is.
 * Waits for servers that do not answer yet, and reports which. Resolves to the key's secret when this call made it.
 */
export function initDataPlane(
  config: Config,
  report: Report,
  generation = firstGeneration,
  patienceMs = serversMs,
): Promise<string | undefined> {
  const work = async (adapters: Adapters): Promise<string | undefined> => {
    const { kafka, questDb } = adapters;
    const known = await recorded(adapters);
    const { live, building } = known ?? { live: generation, building: null };
    for (const needed of [live, building]) if (needed !== null) await makeTables(questDb, needed, report, patienceMs);
    await questDb.replaceViews(live);
    if (!known) await moveGenerations(kafka.log, { live, building });
    const keyring = new Keyring(kafka.views, kafka.log, Date.now);
    await keyring.ready();
    return firstKey(keyring);
  };
  return withAdapters(config, report, work, patienceMs);
}

async function makeTables(questDb: Adapters['questDb'], generation: number, report: Report, ms: number): Promise<void> {
  let told = false;
  const silent = (): void => {
    if (!told) report('QuestDB does not answer yet');
    told = true;
  };
  try {
    await questDb.ensureTables(generation, { ms, silent });
  } catch (error) {
    if (!(error instanceof TelemetryError)) throw error;
    const { message, cause } = error;
    throw new StartError(`QuestDB cannot be used: ${(cause instanceof Error && cause.message) || message}`, { cause: error });
  }
}

/** Makes the next generation beside the live one and moves the readers to it. Resolves to the generation that is live then. */
export function rebuildDataPlane(config: Config, watcher: GenerationWatcher): Promise<number> {
  return withAdapters(config, watcher.told, async (adapters) => {
    const beside = await makeNext(adapters, watcher);
    await moveReaders(adapters, beside, watcher);
    return beside.next;
  });
}

/**
 * Makes the next generation beside the live one, as `rebuildDataPlane` does, names what differs, and gives it up again. Cut off in the
 * middle, the processors go on with it, and the next call of either goes on from there.
 *
 * @param repair ends as `rebuildDataPlane` does instead when something differs.
 */
export function verifyDataPlane(config: Config, repair: boolean, watcher: GenerationWatcher): Promise<ClusterVerification> {
  return withAdapters(config, watcher.told, async (adapters) => {
    const beside = await makeNext(adapters, watcher);
    const { next, live } = beside;
    const found = await compareGenerations(
      (at) => adapters.questDb.compare(next, live, at),
      () => taken(adapters, beside, [live, next], watcher),
    ).catch(async (cause: unknown) => {
      // Tables that another command has dropped meanwhile cannot be read.
      await checkBeside(adapters, beside);
      throw cause;
    });
    const repaired = repair && found.differences > 0;
    await (repaired ? moveReaders : giveUp)(adapters, beside, watcher);
    return { ...found, repaired };
  });
}

async function withAdapters<T>(config: Config, report: Report, work: (adapters: Adapters) => Promise<T>, patienceMs?: number): Promise<T> {
  const adapters = await openAdapters(config, report, patienceMs);
  try {
    return await work(adapters);
  } catch (cause) {
    return await mismatchAsStartError(cause);
  } finally {
    await adapters.close();
  }
}

async function mismatchAsStartError(cause: unknown): Promise<never> {
  const { TableMismatch } = await import('#questdb');
  throw cause instanceof TableMismatch ? new StartError(cause.message, { cause }) : cause;
}

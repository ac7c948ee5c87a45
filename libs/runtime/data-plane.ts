import { setTimeout as pause } from 'node:timers/promises';
import { Keyring } from '#edge';
import type { Projection } from '#model';
import { events, points, projections } from '#topics';
import { openAdapters, type Adapters, type Report } from './adapters.js';
import { StartError } from './config.js';
import { firstKey } from './first-key.js';
import { moveGenerations, suffixOf, telemetry } from './live-generations.js';
import type { Config } from './settings.js';

const firstGeneration = 1;
/** The groups of a generation, without its suffix, and what they read. */
const projected = [
  { name: 'series', topic: points },
  { name: 'events', topic: events },
];
/** A group that commits what was there so shortly ago lags by about nothing. */
const freshMs = 120_000;
const lookMs = 500;
/** Longer than any read takes. */
const readersMs = 30_000;

/**
 * Makes topics, schemas, tables and the first organization with a payment method on file and its key; what is there already stays as it is.
 * Resolves to the key's secret when this call made it.
 */
export function initDataPlane(config: Config, report: Report, generation = firstGeneration): Promise<string | undefined> {
  return withAdapters(config, report, async (adapters) => {
    const { kafka, questDb } = adapters;
    const known = await generations(adapters);
    const { live, building } = known ?? { live: generation, building: null };
    for (const needed of [live, building]) if (needed !== null) await questDb.ensureTables(needed);
    await questDb.replaceViews(live);
    if (!known) await moveGenerations(kafka.log, { live, building });
    const keyring = new Keyring(kafka.views, kafka.log, Date.now);
    await keyring.ready();
    return firstKey(keyring);
  });
}

export interface RebuildWatcher {
  readonly told: Report;
  /** Records that the new generation has still to take, now and then. */
  readonly lags: (records: number) => void;
  /** How long readers of the old generation may take, milliseconds. */
  readonly readersMs?: number;
}

/**
 * Has the processors make the next generation beside the live one, moves the readers once it lags by about nothing, and drops the old one's
 * tables. A call after one that was cut off waits for the same generation. Resolves to the generation that is live then.
 */
export function rebuildDataPlane(config: Config, watcher: RebuildWatcher): Promise<number> {
  return withAdapters(config, watcher.told, async (adapters) => {
    const { kafka, questDb } = adapters;
    const known = await generations(adapters);
    if (!known) throw new StartError('There are no projections yet: run `headwater init --data-plane` first.');
    const next = known.building ?? known.live + 1;
    await questDb.ensureTables(next);
    if (known.building === null) await moveGenerations(kafka.log, { live: known.live, building: next });
    watcher.told(`The processors make generation ${next} beside generation ${known.live}, which readers use meanwhile.`);
    await caughtUp(adapters, next, watcher);
    await questDb.replaceViews(next);
    await moveGenerations(kafka.log, { live: next, building: null });
    watcher.told(`Readers use generation ${next} now.`);
    await pause(watcher.readersMs ?? readersMs);
    // The one before the old one was left behind if the last call was cut off here.
    for (const old of [next - 2, next - 1]) await questDb.dropTables(old);
    return next;
  });
}

async function withAdapters<T>(config: Config, report: Report, work: (adapters: Adapters) => Promise<T>): Promise<T> {
  const adapters = await openAdapters(config, report);
  try {
    return await work(adapters);
  } finally {
    await adapters.close();
  }
}

async function generations({ kafka }: Adapters): Promise<Projection | undefined> {
  const view = kafka.views.open(projections);
  await view.ready;
  return view.get(telemetry);
}

/** Resolves when the groups of a generation have committed what was in the log a moment ago. */
async function caughtUp({ kafka }: Adapters, generation: number, { lags }: RebuildWatcher): Promise<void> {
  for (let fresh = false; !fresh;) {
    const beganMs = performance.now();
    await Promise.all(
      projected.map(async ({ name, topic }) => {
        const ends = await kafka.groups.ends([topic.name]);
        for (;;) {
          const left = await kafka.groups.missing(`${name}${suffixOf(generation)}`, ends);
          if (left === 0) return;
          lags(left);
          await pause(lookMs);
        }
      }),
    );
    fresh = performance.now() - beganMs < freshMs;
  }
}

import { setTimeout as pause } from 'node:timers/promises';
import { OperatorError, type Projection } from '#model';
import { groupsPerGeneration, projections } from '#topics';
import type { Adapters, Report } from './adapters.js';
import type { DeletionWatch } from './deleted-records.js';
import { generationOf, groupsOf, moveGenerations, telemetry } from './live-generations.js';

export interface GenerationWatcher {
  readonly told: Report;
  /** Called now and then with how many records a generation has still to process. */
  readonly lags: (records: number) => void;
  /** How long reads of the old generation may still take after readers were moved, milliseconds. */
  readonly leaveMs?: number;
}

/** A generation that is made beside the one that readers use. */
export interface Beside {
  readonly live: number;
  readonly next: number;
  /** Undefined when the generation is only compared and never gets readers. */
  readonly deletions: DeletionWatch | undefined;
}

/** A group that catches up within this time lags so little that readers can be moved. */
const freshMs = 120_000;
const lookMs = 500;
/** No read takes longer. */
const maxLeaveMs = 30_000;

/** The generations that the log names now; undefined before there are any. */
export async function recorded({ kafka }: Adapters): Promise<Projection | undefined> {
  const view = kafka.views.open(projections);
  await view.ready;
  await view.caughtUp();
  return view.get(telemetry);
}

/**
 * Tells the processors to make the next generation beside the live one. A call after one that was cut off continues with the same one.
 * Rejects OperatorError when there are no projections, and when that one was begun without what it is to take over.
 *
 * @param takesEverything whether it takes over all that the live one has, and not only the buckets whose points are gone.
 */
export async function beginNext(
  adapters: Adapters,
  watcher: GenerationWatcher,
  deletions: DeletionWatch | undefined,
  takesEverything = false,
): Promise<Beside> {
  const { kafka, stores } = adapters;
  const known = await recorded(adapters);
  if (!known) throw new OperatorError('There are no projections yet: run `headwater init --data-plane` first.');
  const { live } = known;
  const next = known.building ?? Math.max(known.highest, live, ...(await numbersUsed(adapters))) + 1;
  await stores.ensure(next);
  if (known.building === null) {
    await stores.takeOver(next, live, takesEverything);
    await moveGenerations(kafka.log, { live, building: next, highest: next });
  } else if (takesEverything && !(await stores.hasEverything(next)))
    throw new OperatorError(
      `Generation ${next} was begun without what Kafka has deleted: run \`headwater verify\` to its end, which discards it, and then this again.`,
    );
  watcher.told(`The processors make generation ${next} beside generation ${live}, which readers use meanwhile.`);
  return { live, next, deletions };
}

/** Resolves once the next generation has nearly caught up. Rejects OperatorError when another command ends it. */
export async function fresh(adapters: Adapters, beside: Beside, watcher: GenerationWatcher): Promise<void> {
  for (let tookMs = Infinity; tookMs >= freshMs;) {
    const beganMs = performance.now();
    await taken(adapters, beside, [beside.next], watcher);
    tookMs = performance.now() - beganMs;
  }
}

/** Resolves when the groups of these generations have committed, and so made visible, all records that are in the log at the call. */
export async function taken(
  adapters: Adapters,
  beside: Beside,
  generations: readonly number[],
  { lags }: GenerationWatcher,
): Promise<void> {
  const { groups } = adapters.kafka;
  const ends = await Promise.all(groupsPerGeneration.map(({ inputs }) => groups.ends(inputs.map(({ name }) => name))));
  const left = async (): Promise<number> => {
    await beside.deletions?.check(adapters);
    const each = generations.flatMap((generation) =>
      groupsOf(generation).map(async ({ name }, at) => {
        const progress = await groups.progress(name, ends[at]!);
        if (generation === beside.next)
          for (const { topic, partition, offset } of progress) beside.deletions?.saw(topic, partition, offset);
        return progress.reduce((sum, { lag }) => sum + lag, 0);
      }),
    );
    return (await Promise.all(each)).reduce((sum, records) => sum + records, 0);
  };
  for (;;) {
    await checkBeside(adapters, beside);
    const records = await left();
    if (records === 0) return;
    lags(records);
    await pause(lookMs);
  }
}

/** Moves readers to the next generation and drops the one that they used. */
export async function moveReaders(adapters: Adapters, beside: Beside, watcher: GenerationWatcher): Promise<void> {
  const { kafka, stores } = adapters;
  await checkBeside(adapters, beside);
  await beside.deletions?.check(adapters);
  await stores.publish(beside.next);
  await moveGenerations(kafka.log, { live: beside.next, building: null, highest: beside.next });
  watcher.told(`Readers use generation ${beside.next} now.`);
  await pause(watcher.leaveMs ?? maxLeaveMs);
  await writersGone(adapters, beside.live);
  await dropUnused(adapters, beside.live);
}

/** Tells the processors to leave the next generation, and drops it. Readers do not notice. */
export async function giveUp(adapters: Adapters, beside: Beside, watcher: GenerationWatcher): Promise<void> {
  await checkBeside(adapters, beside);
  await moveGenerations(adapters.kafka.log, { live: beside.live, building: null, highest: beside.next });
  watcher.told(`Generation ${beside.next} is given up: readers stay with generation ${beside.live}.`);
  await writersGone(adapters, beside.next);
  await dropUnused(adapters, beside.next);
}

/** Rejects OperatorError when the log does not say any more that the next generation is made beside the live one. */
export async function checkBeside(adapters: Adapters, { live, next }: Beside): Promise<void> {
  const known = await recorded(adapters);
  if (known?.live !== live || known.building !== next)
    throw new OperatorError(`Another command has ended generation ${next} meanwhile: run this one again.`);
}

/** Resolves when no processor writes into a generation any more, or after half a minute: a processor may be stuck. */
async function writersGone({ kafka }: Adapters, generation: number): Promise<void> {
  for (const endMs = performance.now() + maxLeaveMs; performance.now() < endMs; await pause(lookMs)) {
    const members = await Promise.all(groupsOf(generation).map(({ name }) => kafka.groups.members(name)));
    if (members.every((count) => count === 0)) return;
  }
}

/**
 * Drops the tables and groups of a generation that nobody uses any more. Also drops those of earlier generations: their command may have been
 * cut off before this step, or a stuck processor may have made them again. Generations that the log names stay, because another command
 * may be using them.
 */
async function dropUnused(adapters: Adapters, left: number): Promise<void> {
  const { kafka, stores } = adapters;
  const numbers = new Set([left, ...(await numbersUsed(adapters))]);
  // Read this after the names of groups: a generation has groups only once the log names it.
  const known = await recorded(adapters);
  for (const number of numbers) {
    if (number === known?.live || number === known?.building) continue;
    await stores.drop(number);
    // Delete groups last: the next command finds tables that are left over by their groups.
    await Promise.all(groupsOf(number).map(({ name }) => kafka.groups.delete(name)));
  }
}

/** The generations that have groups. Records that older versions wrote have no `highest`, so groups may show higher numbers. */
async function numbersUsed({ kafka }: Adapters): Promise<readonly number[]> {
  return [...new Set((await kafka.groups.names()).flatMap((name) => generationOf(name) ?? []))];
}

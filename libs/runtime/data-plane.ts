import { Accounts, Commands, KeyCommands, Keyring, Organizations, Passwords, People, PublicUrl, SignInLimits, whileDeciding } from '#edge';
import { OperatorError, TelemetryError } from '#model';
import { compare, laterOf, type Compared, type GenerationStore, type Moment } from '#stores';
import { decisionsGroup, keysGroup } from '#topics';
import { openAdapters, withLog, type Adapters, type Report } from './adapters.js';
import { compareGenerations, type Comparison } from './compare-generations.js';
import { deletedInWords, DeletionWatch, logStart, mayBeDeletion, RecordsDeleted } from './deleted-records.js';
import { again, firstKey } from './first-key.js';
import { firstOwner } from './first-owner.js';
import { moveGenerations } from './live-generations.js';
import {
  beginNext,
  checkBeside,
  fresh,
  giveUp,
  moveReaders,
  recorded,
  taken,
  type Beside,
  type GenerationWatcher,
} from './next-generation.js';
import type { Config } from './settings.js';
import { refuseUnreadable, warningsOf } from './unreadable-keys.js';

interface ClusterVerification extends Comparison {
  /** Whether readers have been moved to the new generation. */
  readonly repaired: boolean;
}

const firstGeneration = 1;
/** How long to wait for servers, milliseconds: more than they take when all start at the same time. */
const serversMs = 120_000;

/**
 * Makes topics, schemas, tables and the first organization with a payment method on file and its key; what is there already stays as it
 * is, but for settings of topics that break a promise: they are set, and reported.
 * Waits for servers that do not answer yet, and reports which. Resolves to the key's secret when this call made it.
 */
export function initDataPlane(
  config: Config,
  report: Report,
  generation = firstGeneration,
  patienceMs = serversMs,
): Promise<string | undefined> {
  const work = async (adapters: Adapters): Promise<string | undefined> => {
    const { kafka, stores } = adapters;
    const known = await recorded(adapters);
    // Perhaps a record says which tables readers use, but cannot be read.
    if (!known) refuseUnreadable(kafka.views);
    const { live, building } = known ?? { live: generation, building: null };
    for (const needed of [live, building]) if (needed !== null) await ensureStore(stores, needed, report, patienceMs);
    for (const sentence of await stores.shortcomings(live)) report(sentence);
    await stores.publish(live);
    if (!known) await moveGenerations(kafka.log, { live, building, highest: live });
    const organizations = new Organizations(kafka.views, kafka.log, Date.now);
    const keyring = new Keyring(kafka.views);
    await Promise.all([organizations.ready, keyring.ready]);
    for (const warning of warningsOf(kafka.views)) report(warning);
    const commands = new KeyCommands(new Commands(kafka.views, kafka.log, Date.now), Date.now);
    // The processors may not run yet.
    return firstKey(organizations, keyring, (key) =>
      whileDeciding(keysGroup, kafka.log, kafka.views, Date.now, () => commands.createFirst(key)),
    );
  };
  return withAdapters(config, report, work, () => openAdapters(config, report, patienceMs, true));
}

/** A link that makes the first owner of the first organization, see `firstOwner`. Decides in this process too: the processors may not run yet. */
export function firstOwnerLink(config: Config, url: string): Promise<string | undefined> {
  return withLog(config, async ({ log, views }) => {
    const accounts = new Accounts(views);
    const commands = new Commands(views, log, Date.now);
    const people = new People(views, Date.now, commands, accounts, new Passwords(), new PublicUrl(url), new SignInLimits(Date.now));
    await people.ready;
    return whileDeciding(decisionsGroup, log, views, Date.now, () => again(() => firstOwner(people, accounts)));
  });
}

async function ensureStore(stores: GenerationStore, generation: number, report: Report, ms: number): Promise<void> {
  let told = false;
  const silent = (): void => {
    if (!told) report('QuestDB does not answer yet');
    told = true;
  };
  try {
    await stores.ensure(generation, { ms, silent });
  } catch (error) {
    if (!(error instanceof TelemetryError)) throw error;
    const { message, cause } = error;
    throw new OperatorError(`QuestDB cannot be used: ${(cause instanceof Error && cause.message) || message}`, { cause: error });
  }
}

interface Remaking {
  /** Whether the new generation is to lack records that Kafka has deleted and that the live one still has. */
  readonly withoutDeleted?: boolean;
}

/**
 * Makes the next generation beside the live one and moves the readers to it. Resolves to the generation that is live then. Where Kafka has
 * deleted records, the new one begins with all that the live one has, unless `withoutDeleted` says otherwise.
 */
export function rebuildDataPlane(config: Config, watcher: GenerationWatcher, { withoutDeleted = false }: Remaking = {}): Promise<number> {
  return withAdapters(config, watcher.told, async (adapters) => {
    const start = await logStart(adapters.kafka);
    const gone = await deletedInWords(adapters.kafka, start);
    const takesEverything = gone !== undefined && !withoutDeleted;
    if (takesEverything) watcher.told(`The new projections take over what the live ones have of records that Kafka has deleted (${gone}).`);
    else if (gone !== undefined) watcher.told(lacking(gone));
    const beside = await beginNext(adapters, watcher, new DeletionWatch(start), takesEverything);
    await orGivenUp(adapters, beside, watcher, async () => {
      await fresh(adapters, beside, watcher);
      await moveReaders(adapters, beside, watcher);
    });
    return beside.next;
  });
}

/**
 * Makes the next generation beside the live one, as `rebuildDataPlane` does, names what differs, and discards it again. If this is cut off
 * in the middle, the processors go on with that generation, and the next call of either function continues with it. Records that Kafka has
 * deleted are not verified.
 *
 * @param repair moves readers to the next generation when something differs. Rejects OperatorError when Kafka has deleted records that this one would
 * lack, unless `withoutDeleted` allows it.
 */
export function verifyDataPlane(
  config: Config,
  repair: boolean,
  watcher: GenerationWatcher,
  { withoutDeleted = false }: Remaking = {},
): Promise<ClusterVerification> {
  return withAdapters(config, watcher.told, async (adapters) => {
    const deletions = repair ? await agreedDeletions(adapters, watcher, withoutDeleted) : undefined;
    const beside = await beginNext(adapters, watcher, deletions);
    return orGivenUp(adapters, beside, watcher, async () => {
      await fresh(adapters, beside, watcher);
      const found = await compared(adapters, beside, watcher);
      const repaired = repair && found.differences > 0;
      await (repaired ? moveReaders : giveUp)(adapters, beside, watcher);
      return { ...found, repaired };
    });
  });
}

/** Rejects RecordsDeleted when Kafka has deleted records, or only reports them when that is allowed. */
async function agreedDeletions({ kafka }: Adapters, { told }: GenerationWatcher, withoutDeleted: boolean): Promise<DeletionWatch> {
  const start = await logStart(kafka);
  const gone = await deletedInWords(kafka, start);
  if (gone !== undefined && !withoutDeleted)
    throw new RecordsDeleted(
      `Kafka has deleted records (${gone}). Projections that were made to compare lack them, and no log has them any more once the old tables are ` +
        'dropped. `headwater rebuild` takes over what the live ones have of them. Where you want to be without it, say --without-deleted-records.',
    );
  if (gone !== undefined) told(lacking(gone));
  return new DeletionWatch(start);
}

const lacking = (gone: string): string => `The new projections will lack what Kafka has deleted (${gone}).`;

async function compared(adapters: Adapters, beside: Beside, watcher: GenerationWatcher): Promise<Comparison> {
  const { kafka, stores } = adapters;
  const { live, next } = beside;
  // The next generation has read the log now, so records that are deleted from here on are in both generations.
  const start = await logStart(kafka);
  const gone = await deletedInWords(kafka, start);
  for (const sentence of await stores.shortcomings(live)) watcher.told(sentence);
  if (gone !== undefined) watcher.told(`Only what the log still holds is compared: Kafka has deleted records (${gone}).`);
  watcher.told('Comparing what they made with what readers use.');
  /** What both keep: a boundary of one may have moved meanwhile. */
  async function* both(at?: Moment): AsyncGenerator<Compared> {
    const from = laterOf(await stores.keptFrom(live), await stores.keptFrom(next));
    yield* compare(stores.rows(next, at, from), stores.rows(live, at, from));
  }
  return compareGenerations(
    both,
    () => taken(adapters, beside, [live, next], watcher),
    (difference) => mayBeDeletion(start, difference),
  ).catch(async (cause: unknown) => {
    // If another command has dropped the tables meanwhile, say that instead.
    await checkBeside(adapters, beside);
    throw cause;
  });
}

/** Discards the next generation when Kafka deletes records before that generation has read them. */
async function orGivenUp<T>(adapters: Adapters, beside: Beside, watcher: GenerationWatcher, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof RecordsDeleted) await giveUp(adapters, beside, watcher);
    throw cause;
  }
}

async function withAdapters<T>(
  config: Config,
  report: Report,
  work: (adapters: Adapters) => Promise<T>,
  open = (): Promise<Adapters> => openAdapters(config, report),
): Promise<T> {
  const adapters = await open();
  try {
    return await work(adapters);
  } finally {
    await adapters.close();
  }
}

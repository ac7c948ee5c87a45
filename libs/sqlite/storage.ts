import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DeadLetters, LogViews, waitingLetters, type Groups, type RecordLog, type Views } from '#log';
import type { EventStore, NameRoom, SeriesStore } from '#stores';
import { AvroCodec, groups, organizations, sources, topics } from '#topics';
import { causes, counter, keepMsOf, keepNames, TelemetryError, type Dependency, type KeepName, type Metric } from '#model';
import { DirectoryRoom } from './directory-room.js';
import { DataFolderError, folderFormats, openDataFolder, type DataFolder } from './data-folder.js';
import { onDisk } from './disk-fault.js';
import { Disk } from './disk.js';
import { logFolderName } from './log/fault.js';
import { hasLog } from './log/log-folder.js';
import { convertOldLog, removeOldLog } from './old-log.js';
import { SqliteGroups } from './log/groups.js';
import { PositionedLetters } from './log/letter-places.js';
import { FileLog, type LogOptions } from './log/file-log.js';
import type { Retention } from './log/retention.js';
import { keepPartitionCounts } from './partition-counts.js';
import type { Keep } from './series/keeper.js';
import { SchemaFile, schemaFileName } from './schema-file.js';
import { removeStore, storeCopyName, storeFileName } from './store-file.js';
import { checkNoneMissed, fitStore } from './store-origin.js';
import { StoreThreads } from './store-threads.js';
import { openStores, type Stores } from './stores.js';

/** Everything that is kept, in one data folder. */
export interface Storage {
  readonly log: RecordLog;
  readonly views: Views;
  readonly groups: Groups;
  readonly deadLetters: DeadLetters;
  readonly series: SeriesStore;
  readonly events: EventStore;
  /** Call it before a deletion is appended: earlier versions would take it for nothing, and refuse the folder then. Throws `log_unavailable`. */
  readonly beforeDeletion: () => void;
  /** Resolves once all names of series were looked at; rejects `store_corrupt` when some are damaged or lost. */
  readonly checked: Promise<void>;
  /** Opens the view of sources. @param maxBytes of memory that the names in the store may take. */
  room(maxBytes: number): NameRoom;
  /** What the operator should know of the folder, as sentences. */
  readonly warnings: readonly string[];
  /** The data folder, and the room on its disk. */
  readonly dependencies: readonly Dependency[];
  readonly metrics: readonly Metric[];
  /** Writes what waits and closes the files. Stop the consumers first. */
  close(): Promise<void>;
  /** Ends the threads where they stand, as the death of the process would; the folder can be opened again. For tests. */
  crash(): Promise<void>;
}

/** A storage whose log can also be read from the beginning. */
export type OpenedStorage = Storage & { readonly log: FileLog };

export interface StorageOptions {
  /** Unix milliseconds, by which records are old; the machine's clock when left out. */
  readonly clock?: () => number;
  /** How long the log keeps records, milliseconds; for ever when left out. */
  readonly keepLogMs?: number;
  /** How long the store keeps points and rollups; whatever it has when left out. */
  readonly keep?: Keep;
  /** The same of events. */
  readonly keepEventsMs?: number;
  /** Whether what organizations are no longer shown is removed too. */
  readonly keepsForOrganizations?: boolean;
}

/**
 * Opens a data folder, made if need be; one storage has it at a time. A store that is missing or of another version begins empty: the
 * processors make it again from the log, unless that has dropped records.
 * Rejects DataFolderError, also when log and store do not belong together, `log_corrupt` when something that was acknowledged is not
 * there, and `store_corrupt` or `store_unavailable` when the projections cannot be opened.
 */
export async function openStorage(
  dir: string,
  { clock, keepLogMs: keepMs = Infinity, keep, keepEventsMs = Infinity, keepsForOrganizations = false }: StorageOptions = {},
): Promise<OpenedStorage> {
  const folder = openDataFolder(dir);
  const opened = new AsyncDisposableStack();
  opened.defer(() => folder.release());
  try {
    removeStore(join(folder.path, storeCopyName));
    const threads = new StoreThreads();
    opened.defer(() => threads.end());
    const log = await openLog(folder, { clock, retention: keepMs === Infinity ? undefined : { keepMs, groups } });
    opened.defer(() => log.close());
    const building = fitStore(folder.path, log);
    // An earlier version would remove what is archived, and show events that are being removed.
    if ([...Object.values(keep ?? {}), keepEventsMs].some((ms) => ms < Infinity)) folder.noteFormat(folderFormats.dropped);
    const views = new LogViews(log, topics);
    // By far the longest of the views where there are many devices: it is read while the threads of the store begin.
    const listed = views.open(sources);
    const less = keepsForOrganizations ? organizationsWithLess(views, folder) : undefined;
    const keepEvents = { ms: keepEventsMs, ...(less && { less: () => less(['keep_events_hours']) }) };
    const lessPoints = less && (() => less(keepNames.filter((name) => name !== 'keep_events_hours')));
    const file = { file: join(folder.path, storeFileName), epochs: log.epochs };
    const stores = await openStores(threads, file, keep, keepEvents, lessPoints);
    opened.defer(() => stores.close());
    keepPositions(log, stores);
    await checkNoneMissed(folder.path, log, projectors);
    const places = new PositionedLetters(log);
    const damage = damageIn(stores);
    const disk = new Disk(join(folder.path, logFolderName));
    opened.defer(() => disk.stop());
    return {
      log,
      views,
      beforeDeletion: () => noteDeletions(folder),
      groups: new SqliteGroups(log, topics),
      deadLetters: new DeadLetters({
        log,
        topics,
        places,
        valueOf: (topic, bytes) => log.codec.valueOf(topic, bytes),
      }),
      series: stores.series,
      checked: stores.checked,
      events: stores.events,
      room: (maxBytes) => new DirectoryRoom(stores.directory, listed, maxBytes),
      warnings: [log.warning, building].filter((warning) => warning !== undefined),
      dependencies: [
        { id: 'data_folder', name: 'The data folder', health: () => whyNot(log, stores, disk) ?? damage() },
        { id: 'disk_space', name: 'The disk of the data folder', health: () => disk.warning() ?? log.untidy, isSpare: true },
      ],
      metrics: [...disk.metrics, waitingLetters(places, topics), ...late(stores)],
      close: () => opened.disposeAsync(),
      crash: async () => {
        disk.stop();
        await Promise.all([log.crash(), stores.crash()]).finally(() => folder.release());
      },
    };
  } catch (cause) {
    await opened.disposeAsync();
    throw cause;
  }
}

function noteDeletions(folder: DataFolder): void {
  try {
    folder.noteFormat(folderFormats.deleted);
  } catch (cause) {
    throw new TelemetryError('log_unavailable', 'The data folder cannot be written.', { cause });
  }
}

/** Makes the function that finds the organizations that are shown none of some things for ever, as the log says now, and the longest of these times. */
function organizationsWithLess(
  views: Views,
  folder: DataFolder,
): (names: readonly KeepName[]) => readonly (readonly [orgId: string, keepMs: number])[] {
  const view = views.open(organizations);
  let isKnown = false;
  view.ready.then(
    () => (isKnown = true),
    () => undefined,
  );
  return (names) => {
    // An organization may have more by now than what is known of it at first.
    const known = isKnown ? Array.from(view.scan(''), ([, organization]) => organization) : [];
    const all = known.map(({ orgId, limits }) => [orgId, Math.max(...names.map((name) => keepMsOf(limits, name)))] as const);
    const less = all.filter(([, keepMs]) => keepMs < Infinity);
    try {
      if (less.length > 0) folder.noteFormat(folderFormats.dropped);
      return less;
    } catch {
      // The disk is full: tomorrow is early enough.
      return [];
    }
  };
}

const late = ({ latePoints, lateEvents }: Stores): Metric[] =>
  [['points', latePoints] as const, ['events', lateEvents] as const].map(([what, count]) =>
    counter(
      `headwater_late_${what}`,
      `The ${what} that came when their time was no longer kept: the log has them, and answers do not.`,
      count,
    ),
  );

/** Makes the function that says what the look at the names has found to be damaged. */
function damageIn({ checked }: Stores): () => string | undefined {
  let damage: string | undefined;
  checked.catch((cause: TelemetryError) => {
    if (cause.code === 'store_corrupt') damage = `${cause.message} Stop the server, and restore the folder or run \`headwater rebuild\`.`;
  });
  return () => damage;
}

/** After so long without another write a failure is out of date: requests are let in again, because only a write can tell whether the log works. */
const staleMs = 10_000;

/** Why nothing can be written or read now, as a sentence for the operator; undefined while it can. */
function whyNot(log: FileLog, stores: Stores, disk: Disk): string | undefined {
  const ended = log.ended ?? stores.ended();
  if (ended !== undefined) return `A thread of the storage has ended: ${ended}. Restart the server.`;
  if (disk.isGone)
    return 'The data folder was deleted or replaced while the server runs: stop the server and restore the folder from a copy.';
  const { failure } = log;
  if (!failure || (performance.now() - failure.atMs > staleMs && !disk.isFull)) return undefined;
  return `The log cannot be written: ${causes(failure.cause)}.`;
}

export interface OpenLogOptions extends Omit<LogOptions, 'retention'> {
  readonly retention?: Omit<Retention, 'beforeDrop'> | undefined;
}

export function openLog(folder: DataFolder, options?: OpenLogOptions): Promise<FileLog> {
  return onDisk(`Opening the data folder ${folder.path}`, () => openLogIn(folder, options));
}

async function openLogIn(folder: DataFolder, { retention, ...options }: OpenLogOptions = {}): Promise<FileLog> {
  await convertOldLog(folder.path);
  folder.noteFormat();
  const log = join(folder.path, logFolderName);
  const schemas = join(folder.path, schemaFileName);
  if (hasLog(log) && !existsSync(schemas)) throw new DataFolderError(lostSchemas(folder.path));
  keepPartitionCounts(folder.path, topics);
  const registry = new SchemaFile(schemas);
  const codec = await registry.atOnce(() => AvroCodec.open(registry, topics));
  const beforeDrop = (): void => folder.noteFormat(folderFormats.dropped);
  const opened = await FileLog.open(log, codec, topics, { ...options, retention: retention && { ...retention, beforeDrop } });
  try {
    removeOldLog(folder.path, opened);
    return opened;
  } catch (cause) {
    await opened.close();
    throw cause;
  }
}

const lostSchemas = (folder: string): string =>
  `The data folder ${folder} has a log and no ${schemaFileName}, without which the records of the log cannot be read: restore it from ` +
  'a copy of the folder. Where there is none, a new folder of the version that made this one has the same file.';

const projectors = groups.filter(({ kind }) => kind === 'projector');

/** Has the positions of projectors kept in the store: they change in the same file as what the projectors write, so that both are lost or neither. */
export function keepPositions(log: FileLog, { positions }: Stores): void {
  log.keepWith(
    positions,
    projectors.map(({ name }) => name),
  );
}

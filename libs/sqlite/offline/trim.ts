import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { EventBatch, PointBatch } from '#model';
import { AvroCodec, events, points, presence, sources, sourcesGroup } from '#topics';
import { DataFolderError, openDataFolder } from '../data-folder.js';
import { onDisk } from '../disk-fault.js';
import { framesIn } from '../log/batch.js';
import { logFolderName } from '../log/fault.js';
import { blankFrame, frameKey, readFrame } from '../log/frame.js';
import { hasLog } from '../log/log-folder.js';
import { convertOldLog, removeOldLog } from '../old-log.js';
import { Segments } from '../log/segments.js';
import { Witness, witnessFileName } from '../log/witness.js';
import { SchemaFile, schemaFileName } from '../schema-file.js';
import { removeStore, storeFileName } from '../store-file.js';

export interface TrimOptions {
  /** Whether a source stays with all that it sent. */
  readonly keeps: (sourceId: string) => boolean;
  /** Records of other sources stay too when they were appended before this time, Unix milliseconds. Undefined when none of them stay. */
  readonly sinceMs: number | undefined;
  /** Without it nothing is changed, only counted. */
  readonly confirmed: boolean;
}

export interface Trimmed {
  /** Records of points and events that go, and those that stay. */
  readonly gone: number;
  readonly kept: number;
}

/** Hears up to which offset it has come, of how many. */
export type TrimProgress = (done: number, total: number) => void;

/**
 * Takes sources out of the log of a stopped server, for a folder with more of them than the server's memory holds: nothing but the log's files
 * are opened, one at a time. Records that go leave empty ones in their places, so that no offset changes. The store is removed, and the
 * next start makes it again; the list of sources too. Whenever it is ended, calling it again does the rest.
 *
 * Rejects DataFolderError when there is no log, the folder is in use, the log has dropped records, or the disk is full, and `log_corrupt`.
 */
export function trim(dir: string, options: TrimOptions, onProgress: TrimProgress = () => {}): Promise<Trimmed> {
  return onDisk(`Trimming the data folder ${dir}`, () => trimFolder(dir, options, onProgress));
}

async function trimFolder(dir: string, { keeps, sinceMs, confirmed }: TrimOptions, onProgress: TrimProgress): Promise<Trimmed> {
  const folder = openDataFolder(dir);
  try {
    await convertOldLog(folder.path);
    folder.noteFormat();
    const logFolder = join(folder.path, logFolderName);
    if (!hasLog(logFolder)) throw new DataFolderError(`The data folder ${folder.path} has no log: there is nothing to trim.`);
    const segments = new Segments(logFolder);
    const found = segments.recover(new Witness(join(logFolder, witnessFileName)).head());
    if (found.state.begins) throw new DataFolderError(wouldLose(folder.path));
    removeOldLog(folder.path, { head: found.head, epochs: found.state.epochs ?? [] });
    // The store goes first: one that has records which its log lacks must never be opened.
    if (confirmed) removeStore(join(folder.path, storeFileName));
    const goes = (key: string): boolean => !keeps(key.slice(key.indexOf('/') + 1));
    const isDeletion = sinceMs === undefined ? () => false : await deletionsOf(folder.path);
    const trimmed = { gone: 0, kept: 0 };
    const frame = (topic: string, it: Buffer, ms: number): Buffer => {
      const key = frameKey(it, 0);
      // A record without a key has gone already.
      if (key === '' || !trimmedTopics.includes(topic)) return it;
      // What a deletion has ended stays ended, where that stands before the time.
      const isGone = ms >= (sinceMs ?? -Infinity) && goes(key) && !isDeletion(topic, it);
      trimmed[isGone ? 'gone' : 'kept']++;
      return isGone ? blankFrame(it) : it;
    };
    if (confirmed) {
      // The list of sources is made again from what the log still has.
      const isDropped = (topic: string, key: string): boolean => listTopics.includes(topic) && goes(key);
      const rewound = [{ group: sourcesGroup.name, to: 0 }];
      for (const done of segments.rewrite(found, { frame, isDropped, rewound }, Date.now())) {
        if (done !== undefined) onProgress(done, found.head);
        await turn();
      }
    } else {
      for (const batch of segments.kept(found.head)) for (const it of framesIn(batch)) frame(it.topic, it.frame, batch.ms);
    }
    return trimmed;
  } finally {
    folder.release();
  }
}

/** Whether the frame of a topic is a deletion. A record that cannot be read is none. */
async function deletionsOf(folder: string): Promise<(topic: string, frame: Buffer) => boolean> {
  const registry = new SchemaFile(join(folder, schemaFileName));
  const codec = await registry.atOnce(() => AvroCodec.open(registry, [points, events]));
  return (name, frame) => {
    const { value } = readFrame(frame, 0);
    try {
      return value !== null && Boolean(codec.read<PointBatch | EventBatch>(name === points.name ? points : events, value).deleted);
    } catch {
      return false;
    }
  };
}

const wouldLose = (folder: string): string =>
  `The log of the data folder ${folder} has dropped its oldest records (HEADWATER_KEEP_LOG), and only the store has what they said. To trim is to make ` +
  'the store again from the log, which would lose that: nothing was changed.';

const trimmedTopics: readonly string[] = [points.name, events.name];
const listTopics: readonly string[] = [sources.name, presence.name];

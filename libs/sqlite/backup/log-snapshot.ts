import { closeSync, existsSync, fstatSync, openSync } from 'node:fs';
import { basename } from 'node:path';
import { damaged } from '../log/fault.js';
import { JournalFile, journalHeadBytes } from '../log/journal-file.js';
import { filesIn, type LogFileName } from '../log/log-folder.js';
import { SealedFile, type Contents } from '../log/sealed-file.js';

/** A file of the log, open: it can be read even when it has vanished. */
export interface LogFile {
  readonly name: string;
  readonly path: string;
  readonly file: number;
  /** What is behind that was never acknowledged. */
  readonly size: number;
  /** Undefined for a journal. */
  readonly contents: Contents | undefined;
}

export interface LogMoment {
  /** Offset of its first record. */
  readonly first: number;
  /** The offset after its last record. */
  readonly head: number;
  readonly files: readonly LogFile[];
}

/** What a file holds, from one offset to another. */
interface Span {
  readonly end: number;
  readonly size: number | undefined;
  readonly contents: Contents | undefined;
  /** Whether a log may end with it. */
  readonly mayBeLast: boolean;
}

/** How often the files of a log are listed: they change once in 64 MiB of records, and looking takes a fraction of a second. */
const maxLooks = 100;

/**
 * The log as it was at one moment, while its server appends to it, seals its journals and replaces the newest values of its compacted topics.
 * @throws TelemetryError `log_corrupt` when what is there is no log.
 */
export function logAtOneMoment(folder: string): LogMoment {
  for (let look = 0; ; look++) {
    const moment = tryToOpen(folder);
    if (moment) return moment;
    if (look === maxLooks) throw damaged('its files change whenever they are looked at');
  }
}

/** Undefined when a file has come or gone meanwhile. */
function tryToOpen(folder: string): LogMoment | undefined {
  const listed = existsSync(folder) ? filesIn(folder) : [];
  const files = currentOf(listed);
  const opened: number[] = [];
  let moment: LogMoment | undefined;
  try {
    for (const { path } of files) opened.push(openSync(path, 'r'));
    const spans = files.map(spanOf);
    // A listing is not of one moment. Two that agree are, as no name comes back, and so is all that was opened between them.
    if (sameNames(listed, existsSync(folder) ? filesIn(folder) : [])) moment = momentOf(files, spans, opened);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
  } finally {
    if (!moment) for (const file of opened) closeSync(file);
  }
  return moment;
}

/** Without what a crash leaves twice, which the next opening of the log removes. */
function currentOf(files: readonly LogFileName[]): readonly LogFileName[] {
  const newest = files.findLast(({ kind }) => kind === 'newest');
  const sealed = new Set(files.filter(({ kind }) => kind === 'sealed').map(({ offset }) => offset));
  return files.filter((it) => (it.kind === 'newest' ? it === newest : it.kind === 'sealed' || !sealed.has(it.offset)));
}

const sameNames = (some: readonly LogFileName[], others: readonly LogFileName[]): boolean =>
  some.length === others.length && some.every(({ path }, n) => path === others[n]!.path);

function spanOf({ kind, path, offset }: LogFileName): Span {
  if (kind !== 'journal') {
    const contents = new SealedFile(path, kind === 'newest' ? 0 : offset).contents();
    return { end: contents.end, size: undefined, contents, mayBeLast: contents.state !== undefined };
  }
  const journal = new JournalFile(path, offset);
  journal.readTo(Infinity);
  return { end: journal.end, size: journal.size, contents: undefined, mayBeLast: journal.size > journalHeadBytes };
}

/** @throws TelemetryError `log_corrupt` unless each file goes on where the one before it ends. */
function momentOf(files: readonly LogFileName[], spans: readonly Span[], opened: readonly number[]): LogMoment {
  const segments = files.flatMap((it, n) => (it.kind === 'newest' ? [] : [{ ...it, ...spans[n]! }]));
  for (const [n, { path, end, mayBeLast }] of segments.entries()) {
    const next = segments[n + 1];
    if (next ? end !== next.offset : !mayBeLast) throw damaged(`${basename(path)} ends at offset ${end}, and the rest is missing`);
  }
  const [first = 0, head = 0] = [segments[0]?.offset, segments.at(-1)?.end];
  const newest = files.findIndex(({ kind }) => kind === 'newest');
  if (newest >= 0 && (spans[newest]!.end !== files[newest]!.offset || spans[newest]!.end > head))
    throw damaged(`${basename(files[newest]!.path)} does not end where it should`);
  return {
    first,
    head,
    files: files.map(({ path }, n) => {
      const { size = fstatSync(opened[n]!).size, contents } = spans[n]!;
      return { name: basename(path), path, file: opened[n]!, size, contents };
    }),
  };
}

import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The files of a log, each named by an offset: a `journal` has what was appended from that offset on and is written to, or was; a `sealed` one has the
 * same compressed, and stays as it is; `newest` has the newest record of each key of the compacted topics, as far as these were appended before that
 * offset.
 */
export type FileKind = 'journal' | 'sealed' | 'newest';

export interface LogFileName {
  readonly kind: FileKind;
  readonly offset: number;
  readonly path: string;
}

const digits = 16;
const named = new RegExp(`^(\\d{${digits}})\\.(journal|sealed|newest)$`);

/** Where the file of a kind with an offset is. */
export const filePath = (folder: string, kind: FileKind, offset: number): string =>
  join(folder, `${String(offset).padStart(digits, '0')}.${kind}`);

/** The files in the order of their offsets. What a writer left unfinished has other names. */
export function filesIn(folder: string): LogFileName[] {
  return readdirSync(folder)
    .map((name) => named.exec(name))
    .filter((match) => match !== null)
    .map(([name, offset, kind]) => ({ kind: kind as FileKind, offset: Number(offset), path: join(folder, name) }))
    .toSorted((a, b) => a.offset - b.offset);
}

/** Whether a folder has a log. */
export const hasLog = (folder: string): boolean => existsSync(folder) && filesIn(folder).length > 0;

export const bytesOfLog = (folder: string): number => filesIn(folder).reduce((sum, { path }) => sum + statSync(path).size, 0);

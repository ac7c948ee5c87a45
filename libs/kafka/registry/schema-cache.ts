import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { reasonOf } from '../trouble.js';

interface CachedSchemas {
  /** Texts by id. */
  readonly schemas: Readonly<Record<string, string>>;
  /** Ids by subject and text. */
  readonly subjects: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** Where a cache is kept between starts. */
export interface CacheFile {
  /** Made if need be; several processes may share it. */
  readonly path: string;
  /** Hears, once, that the file cannot be written: what the cache holds then ends with the process. */
  readonly report: (message: string) => void;
}

/** What a registry has answered: its answers hold for ever. A file that is damaged is as good as none. */
export class SchemaCache {
  #held: CachedSchemas;
  #hasReported = false;

  /** @param file only in memory when left out. */
  constructor(private readonly file: CacheFile | undefined) {
    this.#held = file ? read(file.path) : nothing;
  }

  /** Id of a schema that was registered under a subject. */
  id(subject: string, schema: string): number | undefined {
    return this.#held.subjects[subject]?.[schema];
  }

  schema(id: number): string | undefined {
    return this.#held.schemas[id];
  }

  keep(id: number, schema: string, subject?: string): void {
    const { schemas, subjects } = this.#held;
    if (schemas[id] === schema && (subject === undefined || subjects[subject]?.[schema] === id)) return;
    this.#held = merged(this.#held, {
      schemas: { [id]: schema },
      subjects: subject === undefined ? {} : { [subject]: { [schema]: id } },
    });
    if (this.file) this.#write(this.file);
  }

  #write({ path, report }: CacheFile): void {
    try {
      write(path, merged(read(path), this.#held));
    } catch (error) {
      if (!this.#hasReported) report(`the file of schemas cannot be written, so a start needs the registry: ${reasonOf(error)}`);
      this.#hasReported = true;
    }
  }
}

const nothing: CachedSchemas = { schemas: {}, subjects: {} };

/** @param newer wins where both have something. */
function merged(older: CachedSchemas, newer: CachedSchemas): CachedSchemas {
  const subjects: Record<string, Readonly<Record<string, number>>> = { ...older.subjects };
  for (const [subject, ids] of Object.entries(newer.subjects)) subjects[subject] = { ...subjects[subject], ...ids };
  return { schemas: { ...older.schemas, ...newer.schemas }, subjects };
}

function read(path: string): CachedSchemas {
  if (!existsSync(path)) return nothing;
  try {
    const { schemas, subjects } = JSON.parse(readFileSync(path, 'utf8')) as CachedSchemas;
    return schemas && subjects ? { schemas, subjects } : nothing;
  } catch {
    return nothing;
  }
}

/** Writes, then renames: readers see a complete file. What another process adds at the same moment may be lost; then the registry is asked again. */
function write(path: string, held: CachedSchemas): void {
  mkdirSync(dirname(path), { recursive: true });
  const half = `${path}.${randomUUID()}`;
  try {
    writeFileSync(half, `${JSON.stringify(held, undefined, 1)}\n`);
    renameSync(half, path);
  } catch (error) {
    rmSync(half, { force: true });
    throw error;
  }
}

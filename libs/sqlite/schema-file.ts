import { existsSync, readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { TelemetryError } from '#model';
import { whyUnreadable, type SchemaRegistry } from '#topics';
import { writeDurably } from './durable-file.js';

/** The file in a data folder with the schemas of the log's records; without it they cannot be read. */
export const schemaFileName = 'schemas.json';

/** What the file holds beside its checksum: the schema with id n is `schemas[n - 1]`. */
interface Schemas {
  readonly schemas: readonly string[];
  /** Ids of each subject, oldest first. */
  readonly subjects: Readonly<Record<string, readonly number[]>>;
}

/** A schema registry in one small file. The compatibility of every subject is BACKWARD_TRANSITIVE. */
export class SchemaFile implements SchemaRegistry {
  #held: Schemas;
  #written: Schemas;
  #isWaiting = false;

  /** @throws TelemetryError `log_corrupt` when the file is damaged. */
  constructor(private readonly path: string) {
    this.#held = this.#written = existsSync(path) ? parse(readFileSync(path, 'utf8')) : { schemas: [], subjects: {} };
  }

  /** Writes what is registered meanwhile at once, before it resolves, and nothing of it when `work` rejects: each write waits for the disk. */
  async atOnce<T>(work: () => Promise<T>): Promise<T> {
    this.#isWaiting = true;
    try {
      const done = await work();
      if (this.#held !== this.#written) this.#write(this.#held);
      return done;
    } finally {
      this.#isWaiting = false;
      this.#held = this.#written;
    }
  }

  async register(subject: string, schema: string): Promise<number> {
    const { schemas, subjects } = this.#held;
    const older = subjects[subject] ?? [];
    const known = older.find((id) => schemas[id - 1] === schema);
    if (known !== undefined) return known;
    for (const id of older) refuseIncompatible(subject, schema, id, schemas[id - 1]!);
    const at = schemas.indexOf(schema);
    const id = at < 0 ? schemas.length + 1 : at + 1;
    const next = { schemas: at < 0 ? [...schemas, schema] : schemas, subjects: { ...subjects, [subject]: [...older, id] } };
    if (this.#isWaiting) this.#held = next;
    else this.#write(next);
    return id;
  }

  async schema(id: number): Promise<string | undefined> {
    return this.#held.schemas[id - 1];
  }

  #write(next: Schemas): void {
    writeDurably(this.path, `${JSON.stringify({ crc32: checksum(next), ...next }, undefined, 1)}\n`);
    this.#held = this.#written = next;
  }
}

function refuseIncompatible(subject: string, schema: string, id: number, older: string): void {
  const why = whyUnreadable(schema, older);
  if (why) throw new Error(`the new schema of ${subject} cannot read what schema ${id} wrote: ${why}`);
}

function parse(text: string): Schemas {
  try {
    const { crc32: sum, schemas, subjects } = JSON.parse(text) as Schemas & { crc32: number };
    if (sum === checksum({ schemas, subjects })) return { schemas, subjects };
  } catch {
    // A file that is not JSON is damaged, as is one that fails its checksum.
  }
  throw new TelemetryError('log_corrupt', `${schemaFileName} fails its checksum: restore it from a copy of the data folder`);
}

function checksum({ schemas, subjects }: Schemas): number {
  return crc32(JSON.stringify([schemas, subjects]));
}

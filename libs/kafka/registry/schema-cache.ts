import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

interface Held {
  /** Texts by id. */
  readonly schemas: Readonly<Record<string, string>>;
  /** Ids by subject and text. */
  readonly subjects: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** What a registry has answered, in a file: its answers hold for ever. A file that is damaged is as good as none. */
export class SchemaCache {
  #held: Held;

  /** @param path the file, made if need be; only in memory when left out. */
  constructor(private readonly path: string | undefined) {
    this.#held = read(path) ?? { schemas: {}, subjects: {} };
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
    this.#held = {
      schemas: { ...schemas, [id]: schema },
      subjects: subject === undefined ? subjects : { ...subjects, [subject]: { ...subjects[subject], [schema]: id } },
    };
    if (this.path !== undefined) write(this.path, this.#held);
  }
}

function read(path: string | undefined): Held | undefined {
  if (path === undefined || !existsSync(path)) return undefined;
  try {
    const { schemas, subjects } = JSON.parse(readFileSync(path, 'utf8')) as Held;
    return schemas && subjects && { schemas, subjects };
  } catch {
    return undefined;
  }
}

/** Several roles may share the file: each writes one of its own and puts it in the place. */
function write(path: string, held: Held): void {
  mkdirSync(dirname(path), { recursive: true });
  const half = `${path}.${process.pid}`;
  writeFileSync(half, `${JSON.stringify(held, undefined, 1)}\n`);
  renameSync(half, path);
}

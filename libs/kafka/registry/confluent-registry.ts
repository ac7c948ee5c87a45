import type { SchemaRegistry } from '#topics';
import { TelemetryError } from '#model';
import { RegistryApi, type RegistryAddress } from './registry-api.js';
import { SchemaCache, type CacheFile } from './schema-cache.js';

export interface RegistryOptions extends RegistryAddress {
  /** For what the registry has answered: with it, a process starts while the registry is away. */
  readonly cacheFile?: CacheFile;
  /** Stands before the name of every subject. */
  readonly prefix?: string;
}

const compatibility = 'BACKWARD_TRANSITIVE';
/** How long a registry that has no schema of an id is believed. */
const absentMs = 10_000;

/** Schemas in a Confluent-compatible registry. Ids are asked for once and kept for ever, on disk too. */
export class ConfluentRegistry implements SchemaRegistry {
  readonly #api: RegistryApi;
  readonly #cache: SchemaCache;
  readonly #prefix: string;
  readonly #asking = new Map<number, Promise<string | undefined>>();
  readonly #absent = new Map<number, number>();

  constructor(options: RegistryOptions) {
    this.#api = new RegistryApi(options);
    this.#cache = new SchemaCache(options.cacheFile);
    this.#prefix = options.prefix ?? '';
  }

  /**
   * Rejects `log_unavailable` when the registry is away and was never asked for this schema; with a sentence when it refuses the schema, or
   * when it gives the id of another one, which means that it has lost what it held.
   */
  async register(topicSubject: string, schema: string): Promise<number> {
    const subject = this.#prefix + topicSubject;
    const known = this.#cache.id(subject, schema);
    try {
      await this.#api.setCompatibility(subject, compatibility);
      const id = await this.#api.register(subject, schema);
      const held = this.#cache.schema(id);
      if (held !== undefined && !sameSchema(held, schema)) throw new Error(forgotten(id));
      this.#cache.keep(id, schema, subject);
      return id;
    } catch (error) {
      if (known !== undefined && error instanceof TelemetryError && error.retryable) return known;
      throw error;
    }
  }

  /** Resolves when the registry has answered, whatever it says. */
  ask(): Promise<void> {
    return this.#api.ask();
  }

  async schema(id: number): Promise<string | undefined> {
    const known = this.#cache.schema(id);
    if (known !== undefined) return known;
    if (performance.now() < (this.#absent.get(id) ?? 0)) return undefined;
    const asking = this.#asking.get(id) ?? this.#ask(id);
    this.#asking.set(id, asking);
    return asking;
  }

  async #ask(id: number): Promise<string | undefined> {
    try {
      const schema = await this.#api.schema(id);
      if (schema === undefined) this.#absent.set(id, performance.now() + absentMs);
      else this.#cache.keep(id, schema);
      return schema;
    } finally {
      this.#asking.delete(id);
    }
  }
}

const sameSchema = (a: string, b: string): boolean => a === b || JSON.stringify(JSON.parse(a)) === JSON.stringify(JSON.parse(b));

const forgotten = (id: number): string =>
  `the schema registry gives id ${id} to another schema than before: it has lost what it held, so restore it from its backup`;

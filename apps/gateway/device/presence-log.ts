import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { entry, RECORD_LOG, tombstone, type Entry, type RecordLog } from '#log';
import type { Presence } from '#model';
import { presence } from '#topics';

interface Due {
  readonly entry: Entry;
  readonly done: (error?: unknown) => void;
}

/** So many records are one append at most. */
const maxEntries = 1000;
const retryMs = 5_000;

/**
 * Writes to the log which connections there are: one append at a time, which takes along all that came meanwhile, so that ten thousand devices that
 * come at once make ten appends.
 */
@Injectable()
export class PresenceLog implements OnApplicationShutdown {
  #due: Due[] = [];
  #writing: Promise<void> | undefined;
  readonly #retries = new Set<NodeJS.Timeout>();

  constructor(@Inject(RECORD_LOG) private readonly log: RecordLog) {}

  /** Resolves once the connection is in the log. Rejects `log_unavailable`: the log may then hold it all the same, so remove it. */
  add(connection: Presence): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#add(entry(presence, connection), (error) => (error === undefined ? resolve() : reject(error)));
    });
  }

  /** Takes a connection out, as soon as the log can be written. */
  remove(connection: Presence): void {
    this.removeKeys([presence.key(connection)]);
  }

  removeKeys(keys: readonly string[]): void {
    for (const key of keys) this.#add(tombstone(presence, key), (error) => error !== undefined && this.#retry(key));
  }

  /** Resolves when every record that waits is written, but for those that are tried again later. */
  async written(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.written();
    for (const timer of this.#retries) clearTimeout(timer);
  }

  #retry(key: string): void {
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      this.removeKeys([key]);
    }, retryMs).unref();
    this.#retries.add(timer);
  }

  #add(one: Entry, done: Due['done']): void {
    this.#due.push({ entry: one, done });
    this.#writing ??= this.#write();
  }

  async #write(): Promise<void> {
    // Whatever else comes in this turn goes along.
    await new Promise(setImmediate);
    while (this.#due.length > 0) {
      const some = this.#due.slice(0, maxEntries);
      this.#due = this.#due.slice(maxEntries);
      let failure: unknown;
      await this.log.append(some.map((due) => due.entry)).catch((error: unknown) => (failure = error));
      for (const { done } of some) done(failure);
    }
    this.#writing = undefined;
  }
}

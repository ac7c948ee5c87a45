import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { entry, RECORD_LOG, VIEWS, type RecordLog, type View, type Views } from '#log';
import { causes, type ApiKey, type Caller, type KeyUse } from '#model';
import { apiKeys, keyUses } from '#topics';
import { CLOCK, type Clock } from './clock.js';

const logger = new Logger('KeyUses');

/** How often uses are written: each process writes a key at most once in this time. */
const writeMs = 60_000;
/** Keys whose use one process notes in that time; the use of others is not noted until it has written these. */
const maxNoted = 10_000;

/**
 * When keys were last used. A use is noted in memory and written within a minute, so that a request costs no write; what was not written when
 * the process ends is forgotten.
 */
@Injectable()
export class KeyUses implements OnApplicationShutdown {
  readonly #keys: View<ApiKey>;
  readonly #noted = new Map<string, string>();
  /** What stays open, and uses its key until it ends. */
  readonly #staying = new Set<() => void>();
  readonly #timer: NodeJS.Timeout;
  #sinceMs: number;

  constructor(
    @Inject(VIEWS) views: Views,
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.#keys = views.open(apiKeys);
    this.#sinceMs = clock();
    this.#timer = setInterval(() => void this.write(), writeMs).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  /** @param address undefined when the connection has just been reset. */
  note({ keyId }: Caller, address: string | undefined): void {
    if (this.#noted.size < maxNoted || this.#noted.has(keyId)) this.#noted.set(keyId, address ?? '');
  }

  /** Notes a use at each write until the answer is called: for a stream, which asks only once. A session is no key. */
  noteUntil(caller: Caller, address: string | undefined): () => void {
    if (caller.person) return () => undefined;
    const note = (): void => this.note(caller, address);
    this.#staying.add(note);
    return () => void this.#staying.delete(note);
  }

  /** Writes what was noted since the last time. Does not reject: where the log is away, the next use is written. */
  async write(): Promise<void> {
    for (const note of this.#staying) note();
    // A key that was deleted meanwhile stays deleted.
    const uses = Array.from(this.#noted, ([keyId, address]): KeyUse => ({ keyId, usedMs: this.#sinceMs, address }));
    this.#noted.clear();
    this.#sinceMs = this.clock();
    const entries = uses.filter(({ keyId }) => this.#keys.get(keyId)).map((use) => entry(keyUses, use));
    if (entries.length === 0) return;
    await this.log.append(entries).catch((error: unknown) => logger.warn(`when keys were last used is not written: ${causes(error)}`));
  }
}

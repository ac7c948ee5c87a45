import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { pagesOf, RECORD_LOG, tombstone, VIEWS, type Entry, type AnyTopic, type RecordLog, type Topic, type Views } from '#log';
import { causes, type KeyUse, type Session, type SessionUse } from '#model';
import { accounts, apiKeys, keyUses, sessions, sessionUses } from '#topics';

const logger = new Logger('Leftovers');

const lookMs = 3_600_000;

/** What is worth nothing without something else. */
interface Leftover<V> {
  readonly topic: Topic<V>;
  readonly of: AnyTopic;
  /** Key of what it belongs to. */
  ownerOf(value: V): string;
}

const kinds: readonly Leftover<unknown>[] = [
  { topic: keyUses, of: apiKeys, ownerOf: ({ keyId }: KeyUse) => keyId },
  { topic: sessions, of: accounts, ownerOf: ({ accountId }: Session) => accountId },
  { topic: sessionUses, of: sessions, ownerOf: ({ sessionId }: SessionUse) => sessionId },
];

/**
 * Takes away what processes wrote of keys, sessions and accounts that had just ended elsewhere: nobody asks for it, so it would only take up
 * room, for ever. Every control process looks once an hour.
 */
@Injectable()
export class Leftovers implements OnApplicationShutdown {
  readonly #timer: NodeJS.Timeout;

  constructor(
    @Inject(VIEWS) private readonly views: Views,
    @Inject(RECORD_LOG) private readonly log: RecordLog,
  ) {
    const clear = (): Promise<void> => this.clear().catch((error: unknown) => logger.warn(`leftovers stay for now: ${causes(error)}`));
    this.#timer = setInterval(() => void clear(), lookMs).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  /** Rejects `log_unavailable`: the next time takes away the rest. */
  async clear(): Promise<void> {
    for (const kind of kinds) {
      // Shows what was taken away a moment ago: of an account the sessions, and then their uses.
      await this.views.open(kind.of).caughtUp();
      for (const page of pagesOf(this.views.open(kind.topic), '')) {
        const ends = await this.#endsOf(page, kind);
        if (ends.length > 0) await this.log.append(ends);
      }
    }
  }

  async #endsOf(page: readonly (readonly [key: string, value: unknown])[], kind: Leftover<unknown>): Promise<Entry[]> {
    const owners = this.views.open(kind.of);
    const isLeft = ([, value]: (typeof page)[number]): boolean => owners.get(kind.ownerOf(value)) === undefined;
    const without = page.filter(isLeft);
    // What it belongs to came before it: once all of that is read, what is missing has ended.
    if (without.length > 0) await owners.caughtUp();
    return without.filter(isLeft).map(([key]) => tombstone(kind.topic, key));
  }
}

import { Inject, Injectable } from '@nestjs/common';
import { pagesOf, VIEWS, type View, type Views } from '#log';
import type { Presence, Source } from '#model';
import { presence, sourceKey, sources } from '#topics';

/** The sources that there are: those that have sent something, and those that are connected. */
@Injectable()
export class KnownSources {
  /** Resolves when all are known that there were at the start. */
  readonly ready: Promise<unknown>;
  readonly #sources: View<Source>;
  readonly #connections: View<Presence>;

  constructor(@Inject(VIEWS) views: Views) {
    this.#sources = views.open(sources);
    this.#connections = views.open(presence);
    this.ready = Promise.all([this.#sources.ready, this.#connections.ready]);
    // Whoever waits for it hears of a failure.
    this.ready.catch(() => undefined);
  }

  /** Whether there is one with this key. */
  has(key: string): boolean {
    return this.#sources.get(key) !== undefined || !this.#connections.scan(`${key}/`)[Symbol.iterator]().next().done;
  }

  /** Keys of the sources of an organization, page by page. A key may come twice. */
  *of(orgId: string): Generator<readonly string[]> {
    for (const page of pagesOf(this.#sources, `${orgId}/`)) yield page.map(([key]) => key);
    for (const page of pagesOf(this.#connections, `${orgId}/`)) yield page.map(([, connection]) => sourceKey(connection));
  }

  /** Calls `listener` again and again for sources that send, and for each that connects. */
  changes(listener: (key: string, orgId: string) => void): void {
    const tell = ({ value }: { readonly value: Source | Presence | null }): void => {
      if (value) listener(sourceKey(value), value.orgId);
    };
    this.#sources.changes(tell);
    this.#connections.changes(tell);
  }
}

import { Inject, Injectable } from '@nestjs/common';
import { Connections, Readiness } from '#edge';
import { VIEWS, type View, type Views } from '#log';
import type { Source } from '#model';
import { sourceKey, sources } from '#topics';

/** A source as readers see it; `lastSeenMs` is null when it is connected and has never sent anything. */
export interface FleetMember {
  readonly sourceId: string;
  readonly online: boolean;
  readonly lastSeenMs: number | null;
}

/** The sources of each organization: those with history and those with a connection. */
@Injectable()
export class Fleet {
  readonly #sources: View<Source>;

  constructor(
    @Inject(VIEWS) views: Views,
    private readonly connections: Connections,
    readiness: Readiness,
  ) {
    this.#sources = views.open(sources);
    readiness.need(Promise.all([this.#sources.ready, connections.ready]));
  }

  /** All of them, by source id. */
  members(orgId: string): readonly FleetMember[] {
    const online = this.connections.online(orgId);
    const seen = Array.from(this.#sources.scan(`${orgId}/`), ([, { sourceId, lastReceivedMs }]) => ({
      sourceId,
      online: online.has(sourceId),
      lastSeenMs: lastReceivedMs,
    }));
    const unseen = [...online].filter((sourceId) => !this.#sources.get(sourceKey({ orgId, sourceId })));
    if (unseen.length === 0) return seen;
    const silent = unseen.map((sourceId) => ({ sourceId, online: true, lastSeenMs: null }));
    return [...seen, ...silent].toSorted((a, b) => (a.sourceId < b.sourceId ? -1 : 1));
  }

  /** Undefined for a source that has neither history nor a connection. */
  member(orgId: string, sourceId: string): FleetMember | undefined {
    const source = this.#sources.get(sourceKey({ orgId, sourceId }));
    const online = this.connections.newest(orgId, sourceId) !== undefined;
    return source || online ? { sourceId, online, lastSeenMs: source?.lastReceivedMs ?? null } : undefined;
  }

  online(orgId: string): ReadonlySet<string> {
    return this.connections.online(orgId);
  }
}

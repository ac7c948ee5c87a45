import { Inject, Injectable } from '@nestjs/common';
import { Connections, Readiness } from '#edge';
import { pagesOf, VIEWS, type View, type Views } from '#log';
import type { Source } from '#model';
import { sourceKey, sources } from '#topics';

/** A source as readers see it; `lastSeenMs` is null when it is connected and has never sent anything. */
export interface FleetMember {
  readonly sourceId: string;
  readonly online: boolean;
  readonly lastSeenMs: number | null;
}

/** So many lookups are one step. */
const stepLookups = 1024;

/** The sources of each organization: those with history and those with a connection. What looks at all of them does so in steps. */
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

  /**
   * Pages of all of them, by source id; a page may be empty.
   *
   * @param online as `online` finds them.
   * @param after only sources behind this id.
   */
  *members(orgId: string, online: ReadonlySet<string>, after = ''): Generator<readonly FleetMember[]> {
    const silent = yield* this.#silent(orgId, online, after);
    let next = 0;
    for (const page of pagesOf(this.#sources, `${orgId}/`, sourceKey({ orgId, sourceId: after }))) {
      const members: FleetMember[] = [];
      for (const [, { sourceId, lastReceivedMs }] of page) {
        while (next < silent.length && silent[next]! < sourceId) members.push(silentMember(silent[next++]!));
        // It has sent something since.
        if (silent[next] === sourceId) next++;
        members.push({ sourceId, online: online.has(sourceId), lastSeenMs: lastReceivedMs });
      }
      yield members;
    }
    yield silent.slice(next).map(silentMember);
  }

  /** Undefined for a source that has neither history nor a connection. */
  member(orgId: string, sourceId: string): FleetMember | undefined {
    const source = this.#sources.get(sourceKey({ orgId, sourceId }));
    const online = this.connections.newest(orgId, sourceId) !== undefined;
    return source || online ? { sourceId, online, lastSeenMs: source?.lastReceivedMs ?? null } : undefined;
  }

  online(orgId: string): Generator<void, ReadonlySet<string>> {
    return this.connections.online(orgId);
  }

  /** How many there are. One of thousands of connected sources that sends its very first point meanwhile may count twice. */
  *count(orgId: string, online: ReadonlySet<string>): Generator<unknown, number> {
    const silent = yield* this.#silent(orgId, online, '');
    return this.#sources.count(`${orgId}/`) + silent.length;
  }

  /** Ids of sources behind `after` that are online and have no history, in order. */
  *#silent(orgId: string, online: ReadonlySet<string>, after: string): Generator<readonly never[], readonly string[]> {
    const ids: string[] = [];
    let looked = 0;
    for (const sourceId of online) {
      if (++looked % stepLookups === 0) yield [];
      if (sourceId > after && !this.#sources.get(sourceKey({ orgId, sourceId }))) ids.push(sourceId);
    }
    return ids.sort();
  }
}

const silentMember = (sourceId: string): FleetMember => ({ sourceId, online: true, lastSeenMs: null });

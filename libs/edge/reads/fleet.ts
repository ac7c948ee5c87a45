import { Inject, Injectable } from '@nestjs/common';
import { pagesOf, VIEWS, type View, type Views } from '#log';
import { rangesOf, sortedInSteps, type Caller, type Source, type SourceRange, type Steps } from '#model';
import { sourceKey, sources } from '#topics';
import { Connections } from '../presence.js';
import { Readiness } from '../readiness.js';

/** A source as readers see it; `lastSeenMs` is null when it is connected and has never sent anything. */
export interface FleetMember {
  readonly sourceId: string;
  readonly online: boolean;
  readonly lastSeenMs: number | null;
}

/** So many lookups, or members of a page, are one step. */
const stepLookups = 1024;

/** The sources of a caller: those with history and those with a connection. What looks at all of them does so in steps. */
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
  *members(caller: Caller, online: ReadonlySet<string>, after = ''): Generator<readonly FleetMember[]> {
    const silent = yield* emptyPages(this.#silent(caller.orgId, online, after));
    const members: FleetMember[] = [];
    let next = 0;
    for (const page of this.#pages(caller, after)) {
      for (const { sourceId, lastReceivedMs } of page) {
        for (; next < silent.length && silent[next]! < sourceId; next++) {
          members.push(silentMember(silent[next]!));
          if (members.length >= stepLookups) yield members.splice(0);
        }
        // It has sent something since.
        if (silent[next] === sourceId) next++;
        members.push({ sourceId, online: online.has(sourceId), lastSeenMs: lastReceivedMs });
      }
      yield members.splice(0);
    }
    for (; next < silent.length; next += stepLookups) yield silent.slice(next, next + stepLookups).map(silentMember);
  }

  /** Undefined for a source that has neither history nor a connection. */
  member({ orgId }: Caller, sourceId: string): FleetMember | undefined {
    const source = this.#sources.get(sourceKey({ orgId, sourceId }));
    const online = this.connections.newest(orgId, sourceId) !== undefined;
    return source || online ? { sourceId, online, lastSeenMs: source?.lastReceivedMs ?? null } : undefined;
  }

  online(caller: Caller): Generator<void, ReadonlySet<string>> {
    return this.connections.online(caller);
  }

  /** How many there are. One of thousands of connected sources that sends its very first point meanwhile may count twice. */
  *count(caller: Caller, online: ReadonlySet<string>): Generator<unknown, number> {
    const silent = yield* this.#silent(caller.orgId, online, '');
    return rangesOf(caller).reduce((sum, range) => sum + this.#countIn(caller.orgId, range), silent.length);
  }

  *#pages(caller: Caller, after: string): Generator<readonly Source[]> {
    const { orgId } = caller;
    for (const { text: sourceId, isPrefix } of rangesOf(caller)) {
      const key = sourceKey({ orgId, sourceId });
      const source = isPrefix || sourceId <= after ? undefined : this.#sources.get(key);
      if (source) yield [source];
      if (!isPrefix) continue;
      for (const page of pagesOf(this.#sources, key, sourceKey({ orgId, sourceId: after }))) yield page.map(([, one]) => one);
    }
  }

  #countIn(orgId: string, { text: sourceId, isPrefix }: SourceRange): number {
    const key = sourceKey({ orgId, sourceId });
    return isPrefix ? this.#sources.count(key) : Number(this.#sources.get(key) !== undefined);
  }

  /** Ids of sources behind `after` that are online and have no history, in order. */
  *#silent(orgId: string, online: ReadonlySet<string>, after: string): Steps<readonly string[]> {
    const ids: string[] = [];
    let looked = 0;
    for (const sourceId of online) {
      if (++looked % stepLookups === 0) yield;
      if (sourceId > after && !this.#sources.get(sourceKey({ orgId, sourceId }))) ids.push(sourceId);
    }
    return yield* sortedInSteps(ids);
  }
}

const silentMember = (sourceId: string): FleetMember => ({ sourceId, online: true, lastSeenMs: null });

/** An empty page for each step. */
function* emptyPages<T>(steps: Steps<T>): Generator<readonly never[], T> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    yield [];
  }
}

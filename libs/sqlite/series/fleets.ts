import { compareUtf8, sortedInSteps, stepItems, type Steps } from '#model';
import { inTurns } from '#stores';
import type { FleetPart, FleetRequest } from './name-reader.js';

/** One metric of sources of an organization, as parallel columns ordered by source id; never changed. */
export interface Fleet {
  readonly sourceIds: readonly string[];
  readonly series: Uint32Array;
}

interface KnownFleet {
  fleet: Promise<Fleet>;
  /** What it takes, in sources. */
  size: number;
  /** What came since `fleet`: the series by source, 0 of those that have it no more. */
  changes: Map<string, number>;
}

/** A fleet takes about as much besides its sources as these would: there may be very many of one source or of none. */
const sourcesOfEmptyFleet = 16;
/** With so many changes it is as well to read a fleet anew. */
const maxChanges = 65_536;

/** The fleets that were asked for last. The store is asked for the others, which takes about as long as a look at every source of the organization. */
export class Fleets {
  readonly #known = new Map<string, KnownFleet>();
  #size = 0;

  /** @param maxSources of all fleets in memory together. */
  constructor(
    private readonly read: (request: FleetRequest) => Promise<FleetPart>,
    private readonly maxSources: number,
  ) {}

  /** A source has a metric since now, with this series; or no more, with 0. */
  note(orgId: string, metric: number, sourceId: string, series: number): void {
    if (this.#known.size === 0) return;
    const key = keyOf(orgId, metric);
    const known = this.#known.get(key);
    if (!known) return;
    const before = known.changes.size;
    known.changes.set(sourceId, series);
    if (known.changes.size === before) return;
    this.#count(known, known.size + 1);
    if (known.changes.size === maxChanges) this.#forget(key);
  }

  /** @param unwritten what the store may not have yet of this fleet, in the manner of `note`. */
  of(orgId: string, metric: number, unwritten: () => Iterable<readonly [sourceId: string, series: number]>): Promise<Fleet> {
    const key = keyOf(orgId, metric);
    const known = this.#known.get(key) ?? this.#begin(key, { orgId, metric, after: '' }, unwritten);
    // The one that was asked for last stands last.
    this.#known.delete(key);
    this.#known.set(key, known);
    const { fleet, changes } = known;
    if (changes.size > 0) {
      known.changes = new Map();
      known.fleet = fleet.then((before) => inTurns(changed(before, changes)));
      void this.#settle(key, known);
    }
    return known.fleet;
  }

  #begin(key: string, request: FleetRequest, unwritten: () => Iterable<readonly [string, number]>): KnownFleet {
    const known: KnownFleet = { fleet: this.#load(request), size: 0, changes: new Map(unwritten()) };
    this.#known.set(key, known);
    void this.#settle(key, known);
    return known;
  }

  async #load(request: FleetRequest): Promise<Fleet> {
    const sourceIds: string[] = [];
    const series: number[] = [];
    for (let after: string | undefined = ''; after !== undefined;) {
      const part: FleetPart = await this.read({ ...request, after });
      for (const one of part.sourceIds) sourceIds.push(one);
      for (const one of part.series) series.push(one);
      after = part.last;
    }
    return { sourceIds, series: Uint32Array.from(series) };
  }

  /** Counts a fleet once it is there, and forgets others for it. */
  async #settle(key: string, known: KnownFleet): Promise<void> {
    const sources = await known.fleet.then(
      ({ sourceIds }) => sourceIds.length,
      () => undefined,
    );
    if (this.#known.get(key) !== known) return;
    if (sources === undefined) this.#forget(key);
    else this.#count(known, sourcesOfEmptyFleet + sources + known.changes.size);
  }

  #count(known: KnownFleet, size: number): void {
    this.#size += size - known.size;
    known.size = size;
    for (const oldest of this.#known.keys()) {
      if (this.#size <= this.maxSources) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    const known = this.#known.get(key);
    if (!known) return;
    this.#size -= known.size;
    this.#known.delete(key);
  }
}

const keyOf = (orgId: string, metric: number): string => `${metric}\0${orgId}`;

function* changed({ sourceIds, series }: Fleet, changes: ReadonlyMap<string, number>): Steps<Fleet> {
  const names = yield* sortedInSteps([...changes.keys()]);
  const made: string[] = [];
  const numbers: number[] = [];
  const put = (sourceId: string, number: number): void => {
    if (number === 0) return;
    made.push(sourceId);
    numbers.push(number);
  };
  let next = 0;
  for (const [at, sourceId] of sourceIds.entries()) {
    while (next < names.length && compareUtf8(names[next]!, sourceId) < 0) put(names[next]!, changes.get(names[next++]!)!);
    if (names[next] === sourceId) put(sourceId, changes.get(names[next++]!)!);
    else put(sourceId, series[at]!);
    if ((at + 1) % stepItems === 0) yield;
  }
  for (; next < names.length; next++) {
    put(names[next]!, changes.get(names[next]!)!);
    if ((next + 1) % stepItems === 0) yield;
  }
  return { sourceIds: made, series: Uint32Array.from(numbers) };
}

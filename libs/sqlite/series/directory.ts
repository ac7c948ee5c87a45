import { sortedInSteps, stepItems, type Steps } from '#model';
import type { DirectoryColumns } from './directory-rows.js';

/** An arena is sealed after so many new or changed sources, because `takeNew` takes all of them in one turn of the event loop. */
const maxNews = 16_384;

/** With fewer metrics, looking at each name is as quick as a map and takes a fifth of the memory. */
const fewMetrics = 32;

/** A source and the numbers of its series. */
export class KnownSource {
  #metrics: string[] = [];
  #series: number[] = [];
  #positions: Map<string, number> | undefined;
  #next = 0;

  constructor(
    readonly id: number,
    readonly orgId: string,
    readonly sourceId: string,
  ) {}

  get metrics(): readonly string[] {
    return this.#metrics;
  }

  /** The number of the series of a metric; undefined when the source never reported it. */
  series(metric: string): number | undefined {
    const at = this.#position(metric);
    return at < 0 ? undefined : this.#series[at];
  }

  add(metric: string, series: number): void {
    this.#positions?.set(metric, this.#metrics.length);
    // Pushing to an empty array reserves room for 17 items, and many sources have one metric.
    if (this.#metrics.length === 0) [this.#metrics, this.#series] = [[metric], [series]];
    else {
      this.#metrics.push(metric);
      this.#series.push(series);
    }
  }

  /** Returns the number that the series of a metric had, 0 when there was none. */
  remove(metric: string): number {
    const at = this.#position(metric);
    if (at < 0) return 0;
    this.#next = 0;
    this.#metrics.splice(at, 1);
    // Those behind it have moved.
    if (at < this.#metrics.length) this.#positions = undefined;
    else this.#positions?.delete(metric);
    return this.#series.splice(at, 1)[0]!;
  }

  /** Sources report their metrics in the same order again and again, so the name is mostly the one after the last. */
  #position(metric: string): number {
    if (this.#metrics[this.#next] !== metric) this.#next = this.#search(metric);
    const at = this.#next;
    this.#next = at + 1 < this.#metrics.length ? at + 1 : 0;
    return at;
  }

  #search(metric: string): number {
    if (this.#metrics.length < fewMetrics) return this.#metrics.indexOf(metric);
    this.#positions ??= new Map(this.#metrics.map((name, at) => [name, at]));
    return this.#positions.get(metric) ?? -1;
  }
}

/** One metric of sources of an organization, as parallel columns ordered by source id; never changed. */
export interface Fleet {
  readonly sourceIds: readonly string[];
  readonly series: Uint32Array;
}

const nobody: Fleet = { sourceIds: [], series: new Uint32Array(0) };

/** The sources of a fleet, and the fleet once somebody has asked for it. */
interface FleetSources {
  /** May have sources that are gone, or without the metric. */
  sources: KnownSource[];
  /** How many were forgotten. */
  forgotten: number;
  fleet: Fleet | undefined;
}

interface KnownOrganization {
  readonly sources: Map<string, KnownSource>;
  readonly fleets: Map<string, FleetSources>;
  /** Estimated memory of this organization's sources and series. */
  bytes: number;
}

/** About what takes memory besides names while the store is opened, which takes most, measured: a source, a series, and the first of a metric. */
const sourceBytes = 600;
const seriesBytes = 100;
const metricBytes = 250;

/** Numbers for sources, metrics and series, given out as they are first seen. */
export class Directory {
  readonly #organizations = new Map<string, KnownOrganization>();
  readonly #metrics = new Map<string, number>();
  #lastSource = 0;
  #lastSeries = 0;
  #bytes = 0;
  /** What was made since `takeNew`. */
  #newMetrics: string[] = [];
  #newSources = new Set<KnownSource>();
  #forgotten: number[] = [];

  constructor({ metrics, ids, orgIds, sourceIds, pairs, ends, lastSeries }: DirectoryColumns) {
    this.#lastSeries = lastSeries;
    for (const [at, name] of metrics.entries()) this.#metrics.set(name, at + 1);
    let orgId = '';
    let pair = 0;
    for (let at = 0; at < ids.length; at++) {
      // Neighbours are mostly of one organization, and share its text.
      if (orgIds[at] !== orgId) orgId = orgIds[at]!;
      const source = this.#add(new KnownSource(ids[at]!, orgId, sourceIds[at]!));
      for (; pair < ends[at]!; pair += 2) this.#addSeries(source, metrics[pairs[pair]! - 1]!, pairs[pair + 1]!);
    }
  }

  /** The highest number that a series has, or had before it was forgotten. */
  get lastSeries(): number {
    return this.#lastSeries;
  }

  /** About how much memory all of it takes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** About how much memory what belongs to an organization takes. */
  bytesOf(orgId: string): number {
    return this.#organizations.get(orgId)?.bytes ?? 0;
  }

  find(orgId: string, sourceId: string): KnownSource | undefined {
    return this.#organizations.get(orgId)?.sources.get(sourceId);
  }

  findOrMake(orgId: string, sourceId: string): KnownSource {
    return this.find(orgId, sourceId) ?? this.#add(new KnownSource(this.#lastSource + 1, orgId, sourceId));
  }

  series(source: KnownSource, metric: string): number {
    return source.series(metric) ?? this.#makeSeries(source, metric);
  }

  metric(name: string): number | undefined {
    return this.#metrics.get(name);
  }

  /** Forgets some metrics of a source, and the source where it has no others. Returns the numbers of their series, which nothing gets again. */
  forget(source: KnownSource, metrics: readonly string[]): Uint32Array {
    const organization = this.#organizations.get(source.orgId)!;
    // From the end, as each moves those behind it.
    const series = metrics.toReversed().map((metric) => source.remove(metric));
    for (const metric of metrics) this.#leaveFleet(organization, metric);
    this.#charge(organization, -seriesBytes * metrics.length);
    this.#newSources.add(source);
    if (source.metrics.length === 0) {
      organization.sources.delete(source.sourceId);
      this.#charge(organization, -sourceBytes - source.sourceId.length);
      this.#newSources.delete(source);
      this.#forgotten.push(source.id);
    }
    return new Uint32Array(series);
  }

  /** The sources of an organization that ever reported a metric, found in steps where they are many. */
  *fleet(orgId: string, metric: string): Steps<Fleet> {
    const organization = this.#organizations.get(orgId);
    const known = organization?.fleets.get(metric);
    if (!organization || !known) return nobody;
    if (known.fleet) return known.fleet;
    if (known.forgotten > 0) this.#withoutForgotten(organization, metric, known);
    const { sources } = known;
    const sourceIds = yield* sortedInSteps(sources.map(({ sourceId }) => sourceId));
    const series = new Uint32Array(sourceIds.length);
    for (const [at, sourceId] of sourceIds.entries()) {
      // Of what is forgotten meanwhile there is nothing: no series has the number 0.
      series[at] = organization.sources.get(sourceId)?.series(metric) ?? 0;
      if ((at + 1) % stepItems === 0) yield;
    }
    const fleet = { sourceIds, series };
    // Sources may have come or gone between two steps.
    const isSame = known.sources === sources && sources.length === sourceIds.length && known.forgotten === 0;
    if (isSame) known.fleet = fleet;
    return fleet;
  }

  /** True when `takeNew` is due. */
  get isFull(): boolean {
    return this.#newSources.size + this.#forgotten.length >= maxNews;
  }

  /** The metrics and the sources that were made, got a series or lost one since the last call. */
  takeNew(): DirectoryColumns {
    const [metrics, sources, forgotten] = [this.#newMetrics, [...this.#newSources], this.#forgotten];
    this.#newMetrics = [];
    this.#newSources = new Set();
    this.#forgotten = [];
    const pairs = new Uint32Array(2 * sources.reduce((sum, source) => sum + source.metrics.length, 0));
    let end = 0;
    const ends = sources.map((source) => {
      for (const metric of source.metrics) {
        pairs[end++] = this.metric(metric)!;
        pairs[end++] = source.series(metric)!;
      }
      return end;
    });
    return {
      firstMetric: this.#metrics.size - metrics.length + 1,
      metrics,
      ids: sources.map(({ id }) => id),
      orgIds: sources.map(({ orgId }) => orgId),
      sourceIds: sources.map(({ sourceId }) => sourceId),
      pairs,
      ends,
      forgotten,
      lastSeries: this.#lastSeries,
    };
  }

  #add(source: KnownSource): KnownSource {
    let organization = this.#organizations.get(source.orgId);
    if (!organization) this.#organizations.set(source.orgId, (organization = { sources: new Map(), fleets: new Map(), bytes: 0 }));
    organization.sources.set(source.sourceId, source);
    this.#charge(organization, sourceBytes + source.sourceId.length);
    this.#lastSource = Math.max(this.#lastSource, source.id);
    return source;
  }

  #charge(organization: KnownOrganization, bytes: number): void {
    organization.bytes += bytes;
    this.#bytes += bytes;
  }

  #makeSeries(source: KnownSource, metric: string): number {
    if (!this.#metrics.has(metric)) {
      const id = this.#metrics.size + 1;
      this.#metrics.set(metric, id);
      this.#newMetrics.push(metric);
    }
    this.#newSources.add(source);
    return this.#addSeries(source, metric, this.#lastSeries + 1);
  }

  #addSeries(source: KnownSource, metric: string, number: number): number {
    source.add(metric, number);
    this.#lastSeries = Math.max(this.#lastSeries, number);
    const organization = this.#organizations.get(source.orgId)!;
    const { fleets } = organization;
    const known = fleets.get(metric);
    this.#charge(organization, seriesBytes + (known ? 0 : metricBytes + metric.length));
    if (!known) fleets.set(metric, { sources: [source], forgotten: 0, fleet: undefined });
    else {
      known.sources.push(source);
      known.fleet = undefined;
    }
    return number;
  }

  /** To look for one source in a long list takes long, and most lists lose many or none: so they stay in it until they are half of it. */
  #leaveFleet(organization: KnownOrganization, metric: string): void {
    const known = organization.fleets.get(metric)!;
    known.fleet = undefined;
    known.forgotten++;
    if (2 * known.forgotten > known.sources.length) this.#withoutForgotten(organization, metric, known);
  }

  #withoutForgotten(organization: KnownOrganization, metric: string, known: FleetSources): void {
    const { sources } = organization;
    // A source that has the metric again stands there twice.
    known.sources = [...new Set(known.sources)].filter((one) => sources.get(one.sourceId) === one && one.series(metric) !== undefined);
    known.forgotten = 0;
    if (known.sources.length > 0) return;
    organization.fleets.delete(metric);
    this.#charge(organization, -metricBytes - metric.length);
  }
}

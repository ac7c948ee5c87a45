import { getHeapStatistics } from 'node:v8';
import { type DirectoryColumns, missing, type OpenedNames } from './directory-rows.js';
import { type Fleet, Fleets } from './fleets.js';
import { KnownSource } from './known-source.js';
import type { AskedSources, FleetPart, FleetRequest, FoundSources } from './name-reader.js';

/** An arena is sealed after so many new or changed sources, because `takeNew` takes all of them in one turn of the event loop. */
const maxNews = 16_384;

/** Sources in memory may take this share of the heap; the store is asked for the others. */
const activeShare = 1 / 6;
const defaultActiveBytes = activeShare * getHeapStatistics().heap_size_limit;
/** The sources of fleets in memory may take this much of what sources may. */
const fleetShare = 1 / 2;

/** About what a source in memory takes besides its name, each of its series, and a source of a fleet. */
const sourceBytes = 500;
const seriesBytes = 32;
const fleetSourceBytes = 80;

/** About what every series takes in the columns that are addressed by its number, also when it is forgotten: its number stays its own until a rebuild. */
const numberBytes = 24;
/** About what a metric takes besides its name: all of them are in memory. */
const metricBytes = 250;

/** The names in the store's file. */
export interface StoredNames {
  sources(asked: AskedSources): Promise<FoundSources>;
  fleet(asked: FleetRequest): Promise<FleetPart>;
  /** Resolves once all names were looked at; rejects `store_corrupt` when some are damaged or lost. */
  readonly checked: Promise<void>;
}

export interface SourceName {
  readonly orgId: string;
  readonly sourceId: string;
}

interface KnownOrganization {
  /** In memory, also some of which the store has nothing. */
  readonly active: Map<string, KnownSource>;
  /** How many of those have a series. */
  held: number;
  /** How many sources it has in all, and what their names and series take, and the metrics that it was the first to have. */
  sources: number;
  bytes: number;
}

const keyOf = ({ orgId, sourceId }: SourceName): string => `${orgId}\0${sourceId}`;

/**
 * Numbers for sources, metrics and series, given out as they are first seen. They are in the store; memory holds all metrics, the sources that were used
 * last, and those with changes that are not written yet.
 */
export class Directory {
  readonly #organizations = new Map<string, KnownOrganization>();
  readonly #metrics = new Map<string, number>();
  readonly #metricNames: string[] = [];
  readonly #fleets: Fleets;
  /** All sources in memory, and where to look for one that can be forgotten. */
  readonly #active = new Set<KnownSource>();
  #hand: Iterator<KnownSource> = this.#active.values();
  #activeBytes = 0;
  #isMakingRoom = false;
  /** Sources that the store is being asked for. */
  readonly #asked = new Map<string, Promise<void>>();
  #isChecked = false;
  #lastSource: number;
  #lastSeries: number;
  #sources = 0;
  #bytes = 0;
  /** What was made since `takeNew`. */
  #newMetrics: string[] = [];
  #newMakers: string[] = [];
  #newSources = new Set<KnownSource>();
  #forgotten: number[] = [];
  /** What the last `takeNew` took, until it is written. */
  #writing: ReadonlySet<KnownSource> = new Set();

  /** @param maxActiveBytes that sources in memory may take. Those that are not written yet come on top, and what is in use at once. */
  constructor(
    { metrics, makers, counts, lastSource, lastSeries }: OpenedNames,
    private readonly store: StoredNames,
    private readonly maxActiveBytes = defaultActiveBytes,
  ) {
    this.#lastSource = lastSource;
    this.#lastSeries = lastSeries;
    for (const [at, name] of metrics.entries()) this.#addMetric(name, makers[at]);
    for (const { orgId, sources, nameBytes, series } of counts) {
      const organization = this.#organization(orgId);
      organization.sources = sources;
      this.#sources += sources;
      this.#charge(organization, nameBytes + numberBytes * series);
    }
    const named = counts.reduce((sum, { series }) => sum + series, 0);
    this.#bytes += numberBytes * (lastSeries - named);
    this.#fleets = new Fleets((asked) => this.store.fleet(asked), (fleetShare * maxActiveBytes) / fleetSourceBytes);
    store.checked.then(
      () => (this.#isChecked = true),
      () => undefined,
    );
  }

  /** The highest number that a series has, or had before it was forgotten. */
  get lastSeries(): number {
    return this.#lastSeries;
  }

  /** How many sources there are. */
  get sources(): number {
    return this.#sources;
  }

  sourcesOf(orgId: string): number {
    return this.#organizations.get(orgId)?.sources ?? 0;
  }

  /** About how much memory names take for as long as the store has them. */
  get bytes(): number {
    return this.#bytes;
  }

  /** About how much of that is an organization's. */
  bytesOf(orgId: string): number {
    return this.#organizations.get(orgId)?.bytes ?? 0;
  }

  /** A source, where it is in memory. */
  find(orgId: string, sourceId: string): KnownSource | undefined {
    const source = this.#organizations.get(orgId)?.active.get(sourceId);
    if (source) source.isUsed = true;
    return source;
  }

  /** Resolves with what `use` makes of a source while it is in memory. Later it may be driven out, and another copy of it changed. */
  async with<T>({ orgId, sourceId }: SourceName, use: (source: KnownSource) => T): Promise<Awaited<T>> {
    for (;;) {
      const source = this.find(orgId, sourceId);
      if (source) return await use(source);
      await this.load([{ orgId, sourceId }]);
    }
  }

  /**
   * Brings sources into memory. They may leave it again before all are there, so ask `find` or `with` for each.
   * Rejects `store_corrupt` when names are damaged or lost.
   */
  async load(names: readonly SourceName[]): Promise<void> {
    const waits: Promise<void>[] = [];
    const missed = new Map<string, SourceName>();
    for (const name of names) {
      const organization = this.#organization(name.orgId);
      if (organization.active.has(name.sourceId)) continue;
      const asked = this.#asked.size > 0 ? this.#asked.get(keyOf(name)) : undefined;
      if (asked) waits.push(asked);
      // Where all sources are in memory, others are new.
      else if (organization.held === organization.sources && this.#isChecked) this.#hold(new KnownSource(0, name.orgId, name.sourceId));
      else missed.set(keyOf(name), name);
    }
    if (missed.size > 0) waits.push(this.#ask(missed));
    await Promise.all(waits);
  }

  /** Whether a series can be made: names that are not looked at yet may be lost. */
  get isReady(): boolean {
    return this.#isChecked;
  }

  /** Resolves once it can; rejects `store_corrupt` when it never will. */
  get ready(): Promise<void> {
    return this.store.checked;
  }

  /** Makes the series of a metric that a source has not; the source is in memory. */
  makeSeries(source: KnownSource, name: string): number {
    const organization = this.#organization(source.orgId);
    const metric = this.#metrics.get(name) ?? this.#makeMetric(name, source.orgId);
    if (source.id === 0) {
      source.id = ++this.#lastSource;
      organization.held++;
      organization.sources++;
      this.#sources++;
      this.#charge(organization, Buffer.byteLength(source.sourceId));
    }
    const series = ++this.#lastSeries;
    source.add(name, series);
    this.#charge(organization, numberBytes);
    this.#activeBytes += seriesBytes;
    this.#makeRoomSoon();
    this.#newSources.add(source);
    this.#fleets.note(source.orgId, metric, source.sourceId, series);
    return series;
  }

  metric(name: string): number | undefined {
    return this.#metrics.get(name);
  }

  /** Forgets some metrics of a source in memory, and the source where it has no others. Returns the numbers of their series, which nothing gets again, so that they count on. */
  forget(source: KnownSource, metrics: readonly string[]): Uint32Array {
    const organization = this.#organization(source.orgId);
    // From the last to the first: to remove a metric moves the metrics behind it.
    const series = metrics.toReversed().map((metric) => source.remove(metric));
    for (const metric of metrics) this.#fleets.note(source.orgId, this.metric(metric)!, source.sourceId, 0);
    this.#activeBytes -= seriesBytes * metrics.length;
    this.#newSources.add(source);
    if (source.metrics.length === 0) {
      this.#forgotten.push(source.id);
      source.id = 0;
      organization.held--;
      organization.sources--;
      this.#sources--;
      this.#charge(organization, -Buffer.byteLength(source.sourceId));
    }
    return new Uint32Array(series);
  }

  /** The sources of an organization that have a metric. */
  async fleet(orgId: string, name: string): Promise<Fleet> {
    const metric = this.metric(name);
    if (metric === undefined) return nobody;
    return this.#fleets.of(orgId, metric, () => this.#unwritten(orgId, name));
  }

  /** True when `takeNew` is due. */
  get isFull(): boolean {
    return this.#newSources.size + this.#forgotten.length >= maxNews;
  }

  /** The metrics and the sources that were made, got a series or lost one since the last call, all of which must be written by now. */
  takeNew(): DirectoryColumns {
    const [metrics, makers, forgotten] = [this.#newMetrics, this.#newMakers, this.#forgotten];
    const sources = [...this.#newSources].filter(({ id }) => id > 0);
    this.#writing = this.#newSources;
    this.#newMetrics = [];
    this.#newMakers = [];
    this.#newSources = new Set();
    this.#forgotten = [];
    const pairs = new Uint32Array(2 * sources.reduce((sum, source) => sum + source.metrics.length, 0));
    let end = 0;
    const ends = sources.map((source) => {
      source.compact();
      for (const metric of source.metrics) {
        pairs[end++] = this.metric(metric)!;
        pairs[end++] = source.series(metric)!;
      }
      return end;
    });
    return {
      firstMetric: this.#metrics.size - metrics.length + 1,
      metrics,
      makers,
      ids: sources.map(({ id }) => id),
      orgIds: sources.map(({ orgId }) => orgId),
      sourceIds: sources.map(({ sourceId }) => sourceId),
      pairs,
      ends,
      forgotten,
    };
  }

  /** What `takeNew` took is in the store: memory need not hold it any longer. */
  wrote(): void {
    this.#writing = new Set();
    this.#makeRoomSoon();
  }

  #ask(names: ReadonlyMap<string, SourceName>): Promise<void> {
    const asked = this.#answer([...names.values()]).finally(() => {
      for (const key of names.keys()) this.#asked.delete(key);
    });
    for (const key of names.keys()) this.#asked.set(key, asked);
    return asked;
  }

  async #answer(names: readonly SourceName[]): Promise<void> {
    const asked = { orgIds: names.map(({ orgId }) => orgId), sourceIds: names.map(({ sourceId }) => sourceId) };
    const { ids, pairs, ends } = await this.store.sources(asked);
    // What is not found may be damaged.
    if (ids.includes(0)) await this.store.checked;
    for (const [at, { orgId, sourceId }] of names.entries()) {
      const source = new KnownSource(ids[at]!, orgId, sourceId);
      for (let pair = ends[at - 1] ?? 0; pair < ends[at]!; pair += 2) this.#addStored(source, pairs[pair]!, pairs[pair + 1]!);
      this.#hold(source);
    }
  }

  #addStored(source: KnownSource, metric: number, series: number): void {
    const name = this.#metricNames[metric - 1];
    if (name === undefined) throw missing(`metric ${metric}`);
    if (series > this.#lastSeries) throw missing('a source');
    source.add(name, series);
  }

  #hold(source: KnownSource): void {
    const organization = this.#organization(source.orgId);
    organization.active.set(source.sourceId, source);
    if (source.id > 0) organization.held++;
    this.#active.add(source);
    this.#activeBytes += this.#bytesOf(source);
    this.#makeRoomSoon();
  }

  #bytesOf({ sourceId, metrics }: KnownSource): number {
    return sourceBytes + sourceId.length + seriesBytes * metrics.length;
  }

  /** Not at once: whoever waits for a source that has just come must find it first, or would ask for it for ever. */
  #makeRoomSoon(): void {
    if (this.#isMakingRoom || this.#activeBytes <= this.maxActiveBytes) return;
    this.#isMakingRoom = true;
    setImmediate(() => {
      this.#isMakingRoom = false;
      this.#makeRoom();
    });
  }

  /** Forgets sources that nobody has asked for since it came by last, until the others take no more than they may. */
  #makeRoom(): void {
    for (let left = 2 * this.#active.size; this.#activeBytes > this.maxActiveBytes && left > 0; left--) {
      const { done, value: source } = this.#hand.next();
      if (done) this.#hand = this.#active.values();
      else if (source.isUsed) source.isUsed = false;
      else if (!this.#newSources.has(source) && !this.#writing.has(source)) this.#drop(source);
    }
  }

  #drop(source: KnownSource): void {
    const organization = this.#organization(source.orgId);
    organization.active.delete(source.sourceId);
    if (source.id > 0) organization.held--;
    this.#active.delete(source);
    this.#activeBytes -= this.#bytesOf(source);
  }

  #organization(orgId: string): KnownOrganization {
    let organization = this.#organizations.get(orgId);
    if (!organization) this.#organizations.set(orgId, (organization = { active: new Map(), held: 0, sources: 0, bytes: 0 }));
    return organization;
  }

  #charge(organization: KnownOrganization, bytes: number): void {
    organization.bytes += bytes;
    this.#bytes += bytes;
  }

  #addMetric(name: string, maker: string | undefined): number {
    const metric = this.#metricNames.push(name);
    this.#metrics.set(name, metric);
    this.#bytes += metricBytes + name.length;
    if (maker !== undefined) this.#organization(maker).bytes += metricBytes + name.length;
    return metric;
  }

  #makeMetric(name: string, maker: string): number {
    this.#newMetrics.push(name);
    this.#newMakers.push(maker);
    return this.#addMetric(name, maker);
  }

  *#unwritten(orgId: string, metric: string): Generator<readonly [sourceId: string, series: number]> {
    for (const some of [this.#writing, this.#newSources])
      for (const source of some) if (source.orgId === orgId) yield [source.sourceId, source.series(metric) ?? 0];
  }
}

const nobody: Fleet = { sourceIds: [], series: new Uint32Array(0) };

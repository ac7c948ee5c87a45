import { compareUtf8 } from '#model';
import type { DirectoryRows } from './directory-rows.js';

/** A source and the numbers of its series by metric name. */
export interface KnownSource {
  readonly id: number;
  readonly orgId: string;
  readonly sourceId: string;
  readonly series: Map<string, number>;
}

/** One metric of all sources of an organization: parallel, ordered by source id once they are read. */
interface Fleet {
  sources: KnownSource[];
  ordered: boolean;
}

interface Organization {
  readonly sources: Map<string, KnownSource>;
  readonly fleets: Map<string, Fleet>;
}

const bySourceId = (a: KnownSource, b: KnownSource): number => compareUtf8(a.sourceId, b.sourceId);

/** Numbers for sources, metrics and series, given out as they are first seen. */
export class Directory {
  readonly #organizations = new Map<string, Organization>();
  readonly #metrics = new Map<string, number>();
  #lastSource = 0;
  #lastSeries = 0;
  /** What was made since `takeNew`. */
  #newMetrics: { id: number; name: string }[] = [];
  #newSources = new Set<KnownSource>();

  constructor(rows: DirectoryRows) {
    for (const { id, name } of rows.metrics) this.#metrics.set(name, id);
    const names = rows.metrics.map(({ name }) => name);
    for (const { id, orgId, sourceId, pairs } of rows.sources) {
      const source = this.#add({ id, orgId, sourceId, series: new Map() });
      for (let at = 0; at < pairs.length; at += 2) this.#addSeries(source, names[pairs[at]! - 1]!, pairs[at + 1]!);
    }
  }

  find(orgId: string, sourceId: string): KnownSource | undefined {
    return this.#organizations.get(orgId)?.sources.get(sourceId);
  }

  findOrMake(orgId: string, sourceId: string): KnownSource {
    return this.find(orgId, sourceId) ?? this.#add({ id: this.#lastSource + 1, orgId, sourceId, series: new Map() });
  }

  series(source: KnownSource, metric: string): number {
    return source.series.get(metric) ?? this.#makeSeries(source, metric);
  }

  metric(name: string): number {
    return this.#metrics.get(name)!;
  }

  /** The sources of an organization that ever reported a metric, ordered by id. */
  fleet(orgId: string, metric: string): readonly KnownSource[] {
    const fleet = this.#organizations.get(orgId)?.fleets.get(metric);
    if (!fleet) return [];
    if (!fleet.ordered) fleet.sources.sort(bySourceId);
    fleet.ordered = true;
    return fleet.sources;
  }

  /** The metrics and the sources that were made or got a series since the last call. */
  takeNew(): DirectoryRows {
    const sources = [...this.#newSources].map(({ id, orgId, sourceId, series }) => ({ id, orgId, sourceId, pairs: this.#pairs(series) }));
    const rows = { metrics: this.#newMetrics, sources };
    this.#newMetrics = [];
    this.#newSources = new Set();
    return rows;
  }

  #pairs(series: ReadonlyMap<string, number>): Uint32Array {
    const pairs = new Uint32Array(2 * series.size);
    let at = 0;
    for (const [metric, number] of series) {
      pairs[at++] = this.metric(metric);
      pairs[at++] = number;
    }
    return pairs;
  }

  #add(source: KnownSource): KnownSource {
    let organization = this.#organizations.get(source.orgId);
    if (!organization) this.#organizations.set(source.orgId, (organization = { sources: new Map(), fleets: new Map() }));
    organization.sources.set(source.sourceId, source);
    this.#lastSource = Math.max(this.#lastSource, source.id);
    return source;
  }

  #makeSeries(source: KnownSource, metric: string): number {
    if (!this.#metrics.has(metric)) {
      const id = this.#metrics.size + 1;
      this.#metrics.set(metric, id);
      this.#newMetrics.push({ id, name: metric });
    }
    this.#newSources.add(source);
    return this.#addSeries(source, metric, this.#lastSeries + 1);
  }

  #addSeries(source: KnownSource, metric: string, number: number): number {
    source.series.set(metric, number);
    this.#lastSeries = Math.max(this.#lastSeries, number);
    const { fleets } = this.#organizations.get(source.orgId)!;
    const fleet = fleets.get(metric);
    if (!fleet) fleets.set(metric, { sources: [source], ordered: true });
    else {
      fleet.sources.push(source);
      fleet.ordered = false;
    }
    return number;
  }
}

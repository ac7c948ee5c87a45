import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { StreamRecord } from '#log';
import { batchFrom, eventsSince, TelemetryError, type Half, type Source } from '#model';
import type { Difference } from '#stores';
import { events, points, sourceKey, sources, sourcesGroup } from '#topics';
import { storeFailure } from '../store-failure.js';
import { openStorage, type OpenedStorage } from '../storage.js';
import { type KeptSince, keptSince, readBoundaries } from '../boundaries.js';
import { keptReader } from '../series/kept.js';
import { openStoreForReading, storeFileName } from '../store-file.js';
import { catchUp } from './catch-up.js';
import { countRecords, isEvents, isPoints, slicesOf, ReceiveTimes, type Census, type Slice, type SourceCensus } from './census.js';
import { compareEvents, EventFold } from './compare-events.js';
import { compareSeries } from './compare-series.js';
import { damagedPlaces } from './damage.js';
import { Findings } from './findings.js';
import { readRecords, type PassProgress } from './read-records.js';
import type { ProjectorsOf } from './rebuild.js';
import { SeriesFold } from './series-fold.js';

export interface Verification {
  readonly sources: number;
  readonly series: number;
  /** Raw points and rollup rows that were compared. */
  readonly rows: number;
  readonly events: number;
  /** What the operator should know of the folder, as sentences. */
  readonly warnings: readonly string[];
  /** Records of the log that cannot be decoded, and so are in no projection. */
  readonly unreadable: number;
  /** Records that the log has dropped: what only they said cannot be compared. */
  readonly dropped: number;
  readonly differences: number;
  /** How many of them are in the list of sources: that stands in the log, which a rebuild leaves as it is. */
  readonly inSources: number;
  /** The first of them. */
  readonly first: readonly Difference[];
}

export interface VerifyOptions {
  readonly onProgress?: (progress: PassProgress) => void;
  /** Points of the log that are held in memory at once, 32 bytes each; more are compared in several passes over the log. */
  readonly maxPoints?: number;
}

/** Differences that are named; all are counted. */
const maxNamed = 100;
/** What is compared of a store that cannot be opened. */
const nothing = { sources: 0, series: 0, rows: 0, events: 0, warnings: [], unreadable: 0, dropped: 0, inSources: 0 };

/**
 * Compares everything that the store of a stopped server answers with a plain fold of its log: raw points, every rollup, names of metrics,
 * events, and sources; and looks at every page, block and row of the store's file for damage. The projectors first bring the store to the
 * log's end, as the next start would. Nothing is appended to the log: sources are compared as far as their group has committed. Where the log has
 * dropped records, all that it still says must be in the store, which may have more. Rejects DataFolderError when the folder is in use, and
 * `log_corrupt`.
 */
export async function verify(dir: string, projectorsOf: ProjectorsOf, options: VerifyOptions = {}): Promise<Verification> {
  const findings = new Findings(maxNamed);
  try {
    const storage = await openStorage(dir);
    try {
      await storage.checked;
      await catchUp(storage.log, projectorsOf({ suffix: '', ...storage }));
      return await new Verifier(storage, findings, options).verify(dir);
    } finally {
      await storage.close();
    }
  } catch (cause) {
    if (!(cause instanceof TelemetryError) || cause.code !== 'store_corrupt') throw cause;
    findings.add({ what: 'damage', expected: 'a store that can be opened', found: cause.message });
    return { ...nothing, differences: findings.count, first: findings.first };
  }
}

class Verifier {
  #unreadable = 0;
  #rows = 0;
  #events = 0;
  #inSources = 0;
  #kept: KeptFrom = { all: 0, points: new Map(), events: new Map() };

  constructor(
    private readonly storage: OpenedStorage,
    private readonly findings: Findings,
    private readonly options: VerifyOptions,
  ) {}

  async verify(dir: string): Promise<Verification> {
    this.#kept = keptOf(join(dir, storeFileName));
    const census = await this.#count();
    this.#lookAtFile(join(dir, storeFileName), census);
    await this.#compareSources(census);
    const slices = slicesOf(census, this.options.maxPoints ?? 4_000_000);
    for (const [at, slice] of slices.entries()) {
      const tell = (part: number): void => this.#tell('compare', Math.round((this.storage.log.head * (at + part)) / slices.length));
      await this.#compareSlice(slice, tell);
    }
    return {
      sources: census.size,
      series: census.values().reduce((sum, { points: series }) => sum + series.size, 0),
      rows: this.#rows,
      events: this.#events,
      warnings: this.storage.warnings,
      unreadable: this.#unreadable,
      dropped: this.storage.log.begins,
      differences: this.findings.count,
      inSources: this.#inSources,
      first: this.findings.first,
    };
  }

  /** Whether the log has all records, so that the store can have nothing else. */
  get #isWhole(): boolean {
    return this.storage.log.begins === 0;
  }

  #tell(step: PassProgress['step'], done: number): void {
    this.options.onProgress?.({ step, done, total: this.storage.log.head });
  }

  async #count(): Promise<Census> {
    const { log } = this.storage;
    const census = new Map<string, SourceCensus>();
    const isTracked = await log.committed(sourcesGroup.name);
    const count = (records: readonly StreamRecord[]): void => countRecords(recordsFrom(records, this.#kept), isTracked, census);
    this.#unreadable = await readRecords(log, [points, events], count, (next) => this.#tell('count', next));
    for (const [key, source] of census) if (!source.isThere) census.delete(key);
    return census;
  }

  #lookAtFile(file: string, census: Census): void {
    using db = openStoreForReading(file);
    for (const place of damagedPlaces(db)) this.findings.add({ what: 'damage', expected: 'what was written', found: place });
    try {
      if (this.#isWhole) this.#findStrangers(db, census);
    } catch (cause) {
      throw storeFailure(cause);
    }
  }

  /** Finds sources that the store knows and the log does not. */
  #findStrangers(db: DatabaseSync, census: Census): void {
    const known = db.prepare('SELECT org AS orgId, name AS sourceId FROM source UNION SELECT org, source FROM event_source').iterate();
    for (const { orgId, sourceId } of known as Iterable<unknown> as Iterable<Source>) {
      if (!census.has(sourceKey({ orgId, sourceId })))
        this.findings.add({ what: 'source', orgId, sourceId, expected: 'nothing', found: 'a source' });
    }
  }

  async #compareSources(census: Census): Promise<void> {
    const view = this.storage.views.open(sources);
    await view.ready;
    for (const [key, source] of census) {
      this.#compareSource(source, view.get(key));
      await this.#compareNames(source);
    }
    for (const [key, { orgId, sourceId }] of view.scan('')) {
      if (this.#isWhole && !census.has(key)) this.#addToSources({ orgId, sourceId, expected: 'nothing', found: 'a source' });
    }
  }

  #addToSources(difference: Omit<Difference, 'what'>): void {
    this.#inSources++;
    this.findings.add({ what: 'source', ...difference });
  }

  #compareSource({ orgId, sourceId, heard, tracked, isDeletionAhead }: SourceCensus, source: Source | undefined): void {
    const found = new ReceiveTimes(source?.firstReceivedMs, source?.lastReceivedMs);
    if (isDeletionAhead || ((heard.both.covers(found) || !this.#isWhole) && found.covers(tracked.both))) return;
    this.#addToSources({ orgId, sourceId, expected: heard.both.words, found: found.words });
  }

  async #compareNames({ orgId, sourceId, points: series }: SourceCensus): Promise<void> {
    const found = new Set(await this.storage.series.metricNames(orgId, sourceId));
    for (const metric of new Set([...series.keys(), ...found])) {
      if (found.has(metric) && (series.has(metric) || !this.#isWhole || pointsFrom(this.#kept, orgId) > 0)) continue;
      const words = series.has(metric) ? { expected: 'the name', found: 'nothing' } : { expected: 'nothing', found: 'the name' };
      this.findings.add({ what: 'metric names', orgId, sourceId, metric, ...words });
    }
  }

  /** @param tell hears which part of the slice is compared. */
  async #compareSlice(slice: Slice, tell: (part: number) => void): Promise<void> {
    const folds = await foldSlice(this.storage.log, slice, this.#kept);
    for (const [key, { source, series, events: log }] of folds) {
      if (series.size > 0)
        this.#rows += await compareSeries(
          this.storage.series,
          source,
          series,
          this.findings,
          this.#isWhole,
          pointsFrom(this.#kept, source.orgId),
        );
      if (log) this.#events += await compareEvents(this.storage.events, source, log, this.findings, this.#isWhole);
      folds.delete(key);
      tell(1 - folds.size / slice.size);
    }
  }
}

/** What a slice holds of one source. */
interface SourceFold {
  readonly source: SourceCensus;
  readonly series: ReadonlyMap<string, SeriesFold>;
  /** Undefined when the events of the source are in another slice, or there are none. */
  readonly events: EventFold | undefined;
}

/** From when on a store takes points and events. What is before is gone, and comes too late when it comes: what is left of it cannot be compared with the log. */
interface KeptFrom {
  /** Points of all. */
  readonly all: number;
  readonly points: KeptSince;
  readonly events: KeptSince;
}

const pointsFrom = ({ all, points: of }: KeptFrom, orgId: string): number => Math.max(all, keptSince(of, orgId));

function keptOf(file: string): KeptFrom {
  using db = openStoreForReading(file);
  return { all: keptReader(db)().kept.wanted.raw, points: readBoundaries(db, 'points'), events: readBoundaries(db, 'events') };
}

const recordsFrom = (records: readonly StreamRecord[], kept: KeptFrom): readonly StreamRecord[] =>
  records.map((record) => {
    if (!record.value) return record;
    if (isPoints(record)) return { ...record, value: batchFrom(record.value, pointsFrom(kept, record.value.orgId)) };
    return isEvents(record) ? { ...record, value: eventsSince(record.value, keptSince(kept.events, record.value.orgId)) } : record;
  });

/** Reads the whole log and keeps what belongs to the slice, by the key of its source. */
async function foldSlice(log: OpenedStorage['log'], slice: Slice, kept: KeptFrom): Promise<Map<string, SourceFold>> {
  const folds = new Map<string, SourceFold>();
  for (const [key, { source, metrics, hasEvents }] of slice) {
    const series = new Map(metrics.map((metric) => [metric, new SeriesFold(source.points.get(metric)!)]));
    folds.set(key, { source, series, events: hasEvents ? new EventFold() : undefined });
  }
  await readRecords(log, [points, events], (records) => {
    for (const record of recordsFrom(records, kept)) {
      const fold = folds.get(record.key);
      if (!fold) continue;
      const isLeft = (half: Half, metric: string): boolean => !fold.source.isDeleted(half, metric, record.offset);
      if (isPoints(record)) for (const run of record.value!.series) if (isLeft('points', run.metric)) fold.series.get(run.metric)?.add(run);
      if (isEvents(record)) {
        const { receivedMs, events: its } = record.value!;
        fold.events?.add({ receivedMs, events: its.filter(({ metric }) => isLeft('events', metric)) });
      }
    }
  });
  return folds;
}

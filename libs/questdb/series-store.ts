import { getHeapStatistics } from 'node:v8';
import { type Lease, oneAtATime, type PointBatch, TelemetryError } from '#model';
import type { Placed, SeriesStore } from '#stores';
import { afterDeletions } from './deletions.js';
import { RefusedRow } from './delivery.js';
import { symbolsText } from './series-names.js';
import type { SeriesReads } from './series-reads.js';
import { SeriesWriter, type WriterParts } from './series-writer.js';
import { Taken } from './taken.js';

/**
 * Memory of the series and sets of tags that a writer knows. Two writers, of the generation that readers use and of one that is made beside
 * it, leave a third of the heap to all else.
 */
const maxSeriesBytes = getHeapStatistics().heap_size_limit / 3;

/** How long a source is suspected after a row of it was refused, and of how many that is remembered. */
const suspectMs = 600_000;
const maxSuspects = 1000;

/** Points and rollups in tables of one generation. */
export class QuestDbSeriesStore implements SeriesStore {
  #writer: SeriesWriter | undefined;
  readonly #oneAtATime = oneAtATime();
  #ended = false;
  readonly #suspects = new Suspects();

  constructor(
    private readonly parts: WriterParts,
    private readonly reads: SeriesReads,
  ) {}

  /** What waits and is under way, bytes. */
  get heldBytes(): number {
    return this.#writer?.heldBytes ?? 0;
  }

  /** Series, and sets of tags in them, that are remembered because points of them came. */
  get seriesCount(): number {
    return this.#writer?.seriesCount ?? 0;
  }

  /** Why rows do not come through; undefined while they do, and when there is nobody whose rows they are. */
  get trouble(): string | undefined {
    const { points, rollups, all } = this.parts;
    return this.#writer?.lease.held() ? (points.outage.reason ?? rollups.outage.reason ?? all.outage.reason) : undefined;
  }

  /**
   * Readers see the points after the next flush: a second later, some seconds when they are late. After a crash everything since the last
   * commit comes again in order; until it has, readers may see an older value of a point than before.
   *
   * A row that QuestDB refuses for good is met only when it is sent, together with others. Then the lease is given up, and when the records
   * come again each of that row's source is tried by itself: the one that is refused rejects with a `RefusedRow`.
   */
  write(batches: readonly Placed<PointBatch>[], lease: Lease): Promise<void> {
    return this.#inTurn(async () => {
      const { deletions, left } = afterDeletions(batches, withoutMetrics);
      if (deletions.length > 0) await this.#under(lease, (writer) => writer.delete(deletions));
      for (const batch of left) await this.#under(lease, (writer) => this.#write(batch, writer));
      if (this.#writer?.lease === lease) this.#writer.taken.all(batches);
    });
  }

  /** Rejects `store_unavailable` also when the lease was lost. */
  async checkpoint(): Promise<void> {
    await this.#inTurn(() => Promise.resolve());
    await this.#writer?.checkpoint();
  }

  /** Resolves when readers see the points that were written before the call. */
  async flush(): Promise<void> {
    await this.#inTurn(() => Promise.resolve());
    await this.#writer?.flush();
  }

  readonly metricNames: SeriesStore['metricNames'] = (...of) => this.reads.metricNames(...of);
  readonly latest: SeriesStore['latest'] = (...of) => this.reads.latest(...of);
  readonly raw: SeriesStore['raw'] = (query) => this.reads.raw(query);
  readonly buckets: SeriesStore['buckets'] = (query) => this.reads.buckets(query);
  readonly fleet: SeriesStore['fleet'] = (query) => this.reads.fleet(query);

  /** Takes no more, and drops what is held: that is only in the log. */
  async end(): Promise<void> {
    this.#ended = true;
    await this.#writer?.end();
  }

  /** A call that comes too late must not end the writer of the lease that is held. */
  async #under(lease: Lease, work: (writer: SeriesWriter) => Promise<void>): Promise<void> {
    if (lease.held()) await work(await this.#writerUnder(lease));
  }

  async #write(batch: Placed<PointBatch>, writer: SeriesWriter): Promise<void> {
    if (this.#suspects.has(batch.value.orgId, batch.value.sourceId)) await writer.probe(batch);
    await writer.write(batch);
  }

  /** What came under another lease comes again: here or elsewhere. A writer of too many series gives way to one that knows none. */
  async #writerUnder(lease: Lease): Promise<SeriesWriter> {
    const writer = this.#writer;
    if (writer?.lease === lease && writer.seriesBytes < maxSeriesBytes) return writer;
    const layout = await this.parts.layout();
    const taken = writer?.lease === lease ? writer.taken : new Taken();
    if (writer?.lease === lease) await writer.checkpoint();
    await writer?.end();
    return (this.#writer = new SeriesWriter(this.parts, layout, lease, taken, (cause) => this.#lost(lease, cause)));
  }

  #lost(lease: Lease, cause: unknown): void {
    if (cause instanceof RefusedRow) this.#suspects.add(cause.symbols);
    lease.giveUp?.();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#oneAtATime(async () => {
      if (this.#ended) throw ended();
      return work();
    });
  }
}

const ended = (): TelemetryError => new TelemetryError('store_unavailable', 'The store is closed.');

const withoutMetrics = (batch: Placed<PointBatch>, isGone: (metric: string) => boolean): Placed<PointBatch> => ({
  ...batch,
  value: { ...batch.value, series: batch.value.series.filter(({ metric }) => !isGone(metric)) },
});

/** Sources of which QuestDB has lately refused a row: which of their records had it is not known. */
export class Suspects {
  /** By the symbols of a refused row, in the order of refusal. */
  readonly #untilMs = new Map<string, number>();

  /** @param symbols of a refused row. */
  add(symbols: string): void {
    this.#untilMs.delete(symbols);
    this.#untilMs.set(symbols, performance.now() + suspectMs);
    if (this.#untilMs.size > maxSuspects) this.#untilMs.delete(this.#untilMs.keys().next().value!);
  }

  has(org: string, source: string): boolean {
    if (this.#untilMs.size === 0) return false;
    for (const [symbols, untilMs] of this.#untilMs) if (untilMs < performance.now()) this.#untilMs.delete(symbols);
    const its = `${symbolsText({ org, source })},`;
    return this.#untilMs.keys().some((symbols) => symbols.startsWith(its));
  }
}

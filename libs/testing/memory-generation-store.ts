import {
  batchFrom,
  bucketStartMs,
  eventDigest,
  intervalMs,
  type EventBatch,
  type Lease,
  type Metric,
  type PointBatch,
  TelemetryError,
} from '#model';
import {
  compareRows,
  type GenerationStore,
  type KeptFrom,
  keptFromTheBeginning,
  laterOf,
  type Moment,
  type Placed,
  type StoredRow,
  type Stores,
} from '#stores';

const maxGenerations = 3;
const levels = ['1m', '1h', '1d'] as const;

/** What one generation keeps, by what tells rows apart. */
interface Kept {
  readonly points: Map<string, StoredRow>;
  readonly events: Map<string, StoredRow>;
  from: KeptFrom;
  /** Buckets whose points are gone, and their metrics. */
  readonly old: StoredRow[];
  everything: boolean;
  /** By partition the last deletion of points that was obeyed. */
  readonly obeyed: Map<number, number>;
}

/** A database in memory, for the stores of several processes. */
export class MemoryDatabase {
  readonly generations = new Map<number, Kept>();
  published: number | undefined;

  of(generation: number): Kept {
    const kept = this.generations.get(generation);
    if (!kept) throw unavailable(`there is no generation ${generation}`);
    return kept;
  }
}

/**
 * `GenerationStore` in the plainest way: points and events in maps, and every rollup folded from them when rows are asked for. It answers the
 * questions of readers as far as the contract asks them.
 */
export class MemoryGenerationStore implements GenerationStore {
  readonly metrics: readonly Metric[] = [];
  readonly #open = new Map<number, MemoryStores>();

  constructor(private readonly database: MemoryDatabase) {}

  open(generation: number): Stores {
    const stores = this.#open.get(generation) ?? new MemoryStores(this.database, generation);
    this.#open.delete(generation);
    this.#open.set(generation, stores);
    for (const [oldest, left] of this.#open) {
      if (this.#open.size <= maxGenerations) break;
      this.#open.delete(oldest);
      left.end();
    }
    return stores;
  }

  async ensure(generation: number): Promise<void> {
    const { generations } = this.database;
    if (!generations.has(generation))
      generations.set(generation, {
        points: new Map(),
        events: new Map(),
        from: keptFromTheBeginning,
        old: [],
        everything: false,
        obeyed: new Map(),
      });
  }

  async shortcomings(generation: number): Promise<readonly string[]> {
    this.database.of(generation);
    return [];
  }

  async publish(generation: number): Promise<void> {
    this.database.published = generation;
  }

  async drop(generation: number): Promise<void> {
    this.database.generations.delete(generation);
  }

  async keptFrom(generation: number): Promise<KeptFrom> {
    return this.database.of(generation).from;
  }

  async keepFrom(generation: number, from: Partial<KeptFrom>): Promise<void> {
    const kept = this.database.of(generation);
    kept.from = laterOf(kept.from, from);
    const gone = [...kept.points].filter(([, { row }]) => row[0] < kept.from.raw);
    const raw = gone.map(([, row]) => row);
    kept.old.push(...levels.flatMap((what) => buckets(raw, what)), ...names(raw));
    for (const [key] of gone) kept.points.delete(key);
  }

  async takeOver(generation: number, from: number, everything: boolean): Promise<void> {
    const to = this.database.of(generation);
    const its = everything ? this.database.of(from) : this.database.generations.get(from);
    if (!its) return;
    to.from = laterOf(to.from, its.from);
    to.old.splice(0, Infinity, ...its.old);
    for (const [partition, offset] of its.obeyed) to.obeyed.set(partition, offset);
    if (!everything) return;
    for (const what of ['points', 'events'] as const) for (const [key, row] of its[what]) to[what].set(key, row);
    to.everything = true;
  }

  async hasEverything(generation: number): Promise<boolean> {
    return this.database.of(generation).everything;
  }

  async dropBefore(generation: number): Promise<void> {
    this.database.of(generation);
  }

  async *rows(generation: number, at?: Moment, from?: KeptFrom): AsyncGenerator<StoredRow> {
    const { points, events, old, from: its } = this.database.of(generation);
    const kept = laterOf(its, from ?? {});
    const raw = [...points.values()];
    const all = [...raw, ...levels.flatMap((what) => buckets(raw, what)), ...names(raw), ...events.values(), ...old].sort(compareRows);
    for (const [place, one] of all.entries()) {
      const { what, row } = one;
      if (at && (what !== at.what || row[0] !== at.timestampMs)) continue;
      if (what === 'metric names' ? place > 0 && compareRows(all[place - 1]!, one) === 0 : row[0] < kept[what]) continue;
      yield one;
    }
  }

  health(): string | undefined {
    return [...this.#open.values()].flatMap((stores) => stores.trouble ?? [])[0];
  }

  whyNotWritten(): undefined {
    return undefined;
  }

  async close(): Promise<void> {
    for (const stores of this.#open.values()) stores.end();
  }

  crash(): Promise<void> {
    return this.close();
  }
}

/** One generation for one process. Points wait for a checkpoint. */
class MemoryStores implements Stores {
  #waiting: { readonly batches: readonly Placed<PointBatch>[]; readonly lease: Lease }[] = [];
  #ended = false;

  constructor(
    private readonly database: MemoryDatabase,
    private readonly generation: number,
  ) {}

  readonly series: Stores['series'] = {
    write: async (batches, lease) => {
      this.#check();
      this.#waiting.push({ batches, lease });
    },
    checkpoint: async () => {
      this.#check();
      const kept = this.database.of(this.generation);
      const { points, from } = kept;
      for (const { batches, lease } of this.#waiting) {
        if (!lease.held()) continue;
        for (const batch of batches) {
          deletePoints(kept, batch);
          for (const row of pointRows(batchFrom(batch.value, from.raw))) points.set(keyOf(row), row);
        }
      }
      this.#waiting = [];
    },
    metricNames: async (orgId, sourceId) =>
      names([...this.database.of(this.generation).points.values()])
        .filter(({ row: [, org, source] }) => org === orgId && source === sourceId)
        .map(({ row }) => row[3]!),
    latest: unanswered,
    raw: unanswered,
    buckets: unanswered,
    fleet: unanswered,
  };

  readonly events: Stores['events'] = {
    write: async (batches) => {
      this.#check();
      const { events, from } = this.database.of(this.generation);
      for (const { value } of batches) {
        const isDeleted = deletedBy(value);
        for (const [key, row] of events) if (isDeleted(row)) events.delete(key);
        for (const row of eventRows(value)) {
          if (row.row[0] < from.events) continue;
          const known = events.get(keyOf(row));
          if (!known || arrivesBefore(row, known)) events.set(keyOf(row), row);
        }
      }
    },
    checkpoint: async () => this.#check(),
    window: unanswered,
    tail: async () => {
      this.database.of(this.generation);
      return unanswered();
    },
  };

  get trouble(): string | undefined {
    const waits = this.#waiting.some(({ lease }) => lease.held());
    return waits && !this.database.generations.has(this.generation) ? `generation ${this.generation} is gone` : undefined;
  }

  end(): void {
    this.#ended = true;
    this.#waiting = [];
  }

  #check(): void {
    if (this.#ended) throw unavailable('the store is closed');
  }
}

/** Whether a row is of what a batch deletes. */
const deletedBy =
  ({ orgId, sourceId, deleted }: PointBatch | EventBatch) =>
  ({ row: [, org, source, metric] }: StoredRow): boolean =>
    !!deleted && org === orgId && source === sourceId && metric === (deleted.metric ?? metric);

/** What is older than the points that are kept does not come again behind a deletion that does. */
function deletePoints({ points, old, obeyed }: Kept, { partition, offset, value }: Placed<PointBatch>): void {
  if (!value.deleted) return;
  const isDeleted = deletedBy(value);
  for (const [key, row] of points) if (isDeleted(row)) points.delete(key);
  if (offset > (obeyed.get(partition) ?? -1)) {
    obeyed.set(partition, offset);
    old.splice(0, Infinity, ...old.filter((row) => !isDeleted(row)));
  }
}

function* pointRows({ orgId, sourceId, series }: PointBatch): Generator<StoredRow> {
  for (const { metric, tags, timestampMs, value } of series) {
    for (const [at, time] of timestampMs.entries()) {
      yield { what: 'raw', row: [time, orgId, sourceId, metric, tags || null, value[at]!] };
    }
  }
}

const eventRows = ({ orgId, sourceId, receivedMs, events }: EventBatch): StoredRow[] =>
  events.map((event) => {
    const { timestampMs, metric, value, place } = event;
    const digest = eventDigest(event).toString('hex');
    return { what: 'events', row: [timestampMs, orgId, sourceId, metric, digest, value, event.tags, receivedMs, place] };
  });

function buckets(raw: readonly StoredRow[], what: (typeof levels)[number]): StoredRow[] {
  const start = (timestampMs: number): number => bucketStartMs(timestampMs, intervalMs[what]);
  const groups = Map.groupBy(raw, ({ row: [time, ...its] }) => JSON.stringify([start(time), ...its.slice(0, 3)]));
  return Array.from(groups.values(), (its) => {
    const [time, org, source, metric] = its[0]!.row;
    const values = its.map(({ row }) => row[5] as number);
    const sum = values.reduce((all, value) => all + value, 0);
    return { what, row: [start(time), org, source, metric, Math.min(...values), Math.max(...values), sum, values.length] };
  });
}

const names = (raw: readonly StoredRow[]): StoredRow[] => {
  const groups = Map.groupBy(raw, ({ row: [, ...its] }) => JSON.stringify(its.slice(0, 3)));
  return Array.from(groups.values(), ([first]) => {
    const [, org, source, metric] = first!.row;
    return { what: 'metric names', row: [0, org, source, metric, 1] };
  });
};

/** Time, organization, source, metric, and tags or digest. */
const keyOf = ({ row }: StoredRow): string => JSON.stringify(row.slice(0, 5));

function arrivesBefore({ row: one }: StoredRow, { row: other }: StoredRow): boolean {
  const [received, place] = [7, 8].map((cell) => (one[cell] as number) - (other[cell] as number)) as [number, number];
  return received < 0 || (received === 0 && place < 0);
}

const unavailable = (why: string): TelemetryError => new TelemetryError('store_unavailable', why);
const unanswered = (): Promise<never> => Promise.reject(new Error('not in memory'));

import { entry, type RecordLog, type View } from '#log';
import { TelemetryError, type Projection } from '#model';
import type { EventStore, Generation, Generations, SeriesStore } from '#stores';
import { projections } from '#topics';

/** The name of the projection that points, rollups and events are together. */
export const telemetry = 'telemetry';

/** The stores of one generation, as an adapter opens them; the same at each call with one number. */
export interface GenerationStores {
  series(generation: number): SeriesStore;
  events(generation: number): EventStore;
}

/** The generations that `projections.v1` names. Readers move to another one between two requests, never within one. */
export class LiveGenerations implements Generations {
  /** For readers: each call goes to the generation that is live then. */
  readonly series: SeriesStore;
  readonly events: EventStore;

  constructor(
    private readonly view: View<Projection>,
    private readonly stores: GenerationStores,
  ) {
    this.series = liveSeries(() => stores.series(this.#live()));
    this.events = liveEvents(() => stores.events(this.#live()));
  }

  get ready(): Promise<void> {
    return this.view.ready;
  }

  get current(): Projection | undefined {
    return this.view.get(telemetry);
  }

  wanted(): readonly Generation[] {
    const { live, building = null } = this.current ?? { live: null };
    return [live, building]
      .filter((number) => number !== null)
      .map((number) => ({ suffix: suffixOf(number), series: this.stores.series(number), events: this.stores.events(number) }));
  }

  changes(listener: () => void): () => void {
    return this.view.changes(() => listener());
  }

  /** Why nothing can be read; undefined when something can. */
  whyNot(): string | undefined {
    return this.current ? undefined : 'There are no projections yet: run `headwater init --data-plane`.';
  }

  #live(): number {
    const { current } = this;
    if (current) return current.live;
    throw new TelemetryError('store_unavailable', 'There is no generation of the projections yet.');
  }
}

/** What the names of a generation's consumer groups end with. */
export const suffixOf = (generation: number): string => `.g${generation}`;

/** Resolves once every role is going to see it. */
export function moveGenerations(log: RecordLog, next: Omit<Projection, 'projection'>): Promise<void> {
  return log.append([entry(projections, { projection: telemetry, ...next })]);
}

const liveSeries = (live: () => SeriesStore): SeriesStore => ({
  write: async (batches, lease) => live().write(batches, lease),
  checkpoint: async () => live().checkpoint(),
  metricNames: async (orgId, sourceId) => live().metricNames(orgId, sourceId),
  latest: async (orgId, sourceId, window) => live().latest(orgId, sourceId, window),
  raw: async (query) => live().raw(query),
  buckets: async (query) => live().buckets(query),
  fleet: async (query) => live().fleet(query),
});

const liveEvents = (live: () => EventStore): EventStore => ({
  write: async (batches) => live().write(batches),
  checkpoint: async () => live().checkpoint(),
  window: async (orgId, sourceId, window, limit, name) => live().window(orgId, sourceId, window, limit, name),
  tail: async (orgId, sourceId, count, name) => live().tail(orgId, sourceId, count, name),
});

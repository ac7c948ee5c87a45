import { ofGeneration, type Group, type Progress } from '#log';
import { causes, keptFrom, type Projection } from '#model';
import { AgreedTime, type GenerationStore, type KeptFrom, type KeptKind, laterOf } from '#stores';
import { eventsGroup, seriesGroup } from '#topics';
import type { Report } from './adapters.js';
import type { Config } from './settings.js';
import { suffixOf } from './live-generations.js';

/** How long each kind is kept, milliseconds; `Infinity` is for ever. */
export type Keep = Readonly<Record<KeptKind, number>>;

export const keepOf = ({ keepPointsMs, keep1mMs, keep1hMs, keep1dMs, keepEventsMs }: Config): Keep => ({
  raw: keepPointsMs,
  '1m': keep1mMs,
  '1h': keep1hMs,
  '1d': keep1dMs,
  events: keepEventsMs,
});

/** What the groups of a generation bring to the stores. */
const broughtBy: readonly (readonly [group: Group, kinds: readonly KeptKind[]])[] = [
  [seriesGroup, ['raw', '1m', '1h', '1d']],
  [eventsGroup, ['events']],
];

/** Of each partition where it begins, and the offset of its next record. */
type Extents = ReadonlyMap<string, readonly { readonly low: number; readonly high: number }[]>;

/** What is asked of the log. */
export interface LogGroups {
  ends(topics: readonly string[]): Promise<Extents>;
  progress(group: string, ends: Extents): Promise<readonly Pick<Progress, 'lag'>[]>;
  appendedBefore(topic: string, offsets: readonly number[]): Promise<number>;
}

/** Between two looks. What lies before a boundary is dropped at the look after the one that moved it: processes have heard of it by then. */
const lookMs = 600_000;

/** Tells up to which time a group has brought all there was, as the log says it. */
class Brought {
  /** What was in the log at an earlier look, and when the newest of it was appended. */
  #mark: { readonly ends: Extents; readonly newestMs: number } | undefined;

  constructor(
    private readonly group: Group,
    private readonly groups: LogGroups,
  ) {}

  /** Undefined while the group has not committed all that was there at an earlier look. */
  async throughMs(): Promise<number | undefined> {
    const mark = this.#mark;
    const progress = mark && (await this.groups.progress(this.group.name, mark.ends));
    if (progress?.some(({ lag }) => lag > 0)) return undefined;
    const names = this.group.inputs.map(({ name }) => name);
    const ends = await this.groups.ends(names);
    const newest = [...ends.values()].map((extents, at) => {
      // Before the last record of each partition, so never too late.
      const last = extents.map(({ high }) => Math.max(0, high - 1));
      return this.groups.appendedBefore(names[at]!, last);
    });
    this.#mark = { ends, newestMs: Math.max(...(await Promise.all(newest))) };
    return mark?.newestMs;
  }
}

/** One group of a generation, and the time that its records agree on. */
interface Watched {
  readonly brought: Brought;
  readonly time: Pick<AgreedTime, 'after'>;
}

/**
 * Moves the boundaries of the generations, and has them give back what lies before. Every processor does so, with no leader: a boundary that
 * one has moved holds for all, and of several the latest. A boundary moves to a time only when all that was appended before it is in the
 * stores for good: with its buckets, so that no one needs its points again.
 */
export class Retention {
  readonly #watched = new Map<string, Watched>();
  /** As at the last look, by generation. */
  #kept = new Map<number, KeptFrom>();

  constructor(
    private readonly keep: Keep,
    private readonly stores: Pick<GenerationStore, 'keptFrom' | 'keepFrom' | 'dropBefore'>,
    private readonly groups: LogGroups,
    private readonly current: () => Projection | undefined,
    private readonly agreedTime: () => Pick<AgreedTime, 'after'> = () => new AgreedTime(),
  ) {}

  /** Does what is due. Rejects `log_unavailable` and `store_unavailable`; the next look does the rest. */
  async look(): Promise<void> {
    const { live = null, building = null } = this.current() ?? {};
    const before = this.#kept;
    this.#kept = new Map();
    for (const generation of [live, building]) {
      if (generation === null) continue;
      const kept = await this.stores.keptFrom(generation);
      this.#kept.set(generation, kept);
      const known = before.get(generation);
      if (known) await this.stores.dropBefore(generation, known);
      for (const [group, kinds] of broughtBy) await this.#move(generation, ofGeneration(group, suffixOf(generation)), kinds, kept);
    }
  }

  async #move(generation: number, group: Group, kinds: readonly KeptKind[], kept: KeptFrom): Promise<void> {
    if (kinds.every((kind) => this.keep[kind] === Infinity)) return;
    const { brought, time } = this.#watchedOf(group);
    const throughMs = await brought.throughMs();
    if (throughMs === undefined) return;
    const boundaries = (nowMs: number): KeptFrom =>
      laterOf(kept, Object.fromEntries(kinds.map((kind) => [kind, keptFrom(this.keep[kind], nowMs)])));
    const due = boundaries(throughMs);
    const agreedMs = time.after(
      throughMs,
      kinds.some((kind) => due[kind] > kept[kind]),
    );
    if (agreedMs !== undefined) await this.stores.keepFrom(generation, boundaries(agreedMs));
  }

  #watchedOf(group: Group): Watched {
    const known = this.#watched.get(group.name);
    if (known) return known;
    const watched = { brought: new Brought(group, this.groups), time: this.agreedTime() };
    this.#watched.set(group.name, watched);
    return watched;
  }
}

/** Looks now and then, unless all is kept. Returns a function that ends this. */
export function looking(retention: Retention, { keep, report }: { readonly keep: Keep; readonly report: Report }): () => void {
  if (Object.values(keep).every((ms) => ms === Infinity)) return () => undefined;
  let looked: Promise<void> | undefined;
  const look = (): void => {
    looked ??= retention
      .look()
      .catch((error: unknown) => report(`What is no longer to be kept is still there: ${causes(error)}`))
      .finally(() => (looked = undefined));
  };
  const timer = setInterval(look, lookMs).unref();
  return () => clearInterval(timer);
}

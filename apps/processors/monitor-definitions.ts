import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '#edge';
import { VIEWS, type View, type Views } from '#log';
import { everySource, type Monitor } from '#model';
import { monitors, sourceKey } from '#topics';

const none: readonly Monitor[] = [];

/** The definitions that hold, by the sources that they are about. */
@Injectable()
export class MonitorDefinitions {
  readonly #view: View<Monitor>;
  readonly #ready: Promise<void>;
  readonly #known = new Map<string, Monitor>();
  readonly #ofSource = new Map<string, readonly Monitor[]>();
  /** Those that are about every source, by organization. */
  readonly #ofEverySource = new Map<string, readonly Monitor[]>();
  /** All that was in the log at this time is known, Unix milliseconds. */
  #knownMs = -Infinity;
  #changed = new Set<string>();

  constructor(
    @Inject(VIEWS) views: Views,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.#view = views.open(monitors);
    this.#ready = this.#view.ready.then(() => this.#listen());
    // Whoever waits for it hears of a failure.
    this.#ready.catch(() => undefined);
  }

  /** Resolves when all definitions are known that were in the log at this time, Unix milliseconds. Rejects `log_unavailable`. */
  async knownSince(ms: number): Promise<void> {
    if (ms < this.#knownMs) return;
    await this.#ready;
    const nowMs = this.clock();
    this.#knownMs = Math.max(this.#knownMs, nowMs - this.#view.ageMs());
    if (ms < this.#knownMs) return;
    await this.#view.caughtUp();
    this.#knownMs = Math.max(this.#knownMs, nowMs);
  }

  /** The monitors of a source: two look-ups, and nothing is made where there are none. @param source its key. */
  of(source: string, orgId: string): readonly Monitor[] {
    const its = this.#ofSource.get(source) ?? none;
    const every = this.#ofEverySource.get(orgId) ?? none;
    if (every.length === 0) return its;
    return its.length === 0 ? every : [...its, ...every];
  }

  /** The keys of sources that have a monitor of their own. */
  sources(): Iterable<string> {
    return this.#ofSource.keys();
  }

  /** The monitors of every source, by the organizations that have any. */
  ofEverySource(): Iterable<readonly [orgId: string, monitors: readonly Monitor[]]> {
    return this.#ofEverySource;
  }

  /** What has other definitions since the last call: keys of sources, and ids of organizations for all their sources. */
  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed;
    if (changed.size > 0) this.#changed = new Set();
    return changed;
  }

  #listen(): void {
    for (const [key, monitor] of this.#view.scan('')) this.#put(key, monitor);
    this.#view.changes(({ key, value }) => this.#put(key, value));
  }

  #put(key: string, monitor: Monitor | null): void {
    const before = this.#known.get(key);
    if (before) this.#change(before, (all) => all.filter(({ monitorId }) => monitorId !== before.monitorId));
    if (monitor) {
      this.#known.set(key, monitor);
      this.#change(monitor, (all) => [...all, monitor]);
    } else this.#known.delete(key);
  }

  #change(monitor: Monitor, change: (all: readonly Monitor[]) => readonly Monitor[]): void {
    const isEvery = monitor.sourceId === everySource;
    const [place, key] = isEvery ? [this.#ofEverySource, monitor.orgId] : [this.#ofSource, sourceKey(monitor)];
    const all = change(place.get(key) ?? none);
    if (all.length > 0) place.set(key, all);
    else place.delete(key);
    this.#changed.add(key);
  }
}

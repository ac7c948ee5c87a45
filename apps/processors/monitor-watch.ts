import { Inject, Injectable, Optional } from '@nestjs/common';
import { CLOCK, Connections, type Clock } from '#edge';
import { entry, on, RECORD_LOG, Table, type Entry, type Processor, type RecordLog, type StreamRecord } from '#log';
import {
  afterLooking,
  afterPoints,
  afterSending,
  alertEvents,
  everySource,
  isOnlyHeardUntil,
  lookAgainMs,
  lookMs,
  TelemetryError,
  unwatched,
  withOnly,
  type AlertBatch,
  type Deletion,
  type EventBatch,
  type Lease,
  type Metric,
  type Monitor,
  type PointBatch,
  type Step,
  type WatchedSource,
} from '#model';
import { alerts, events as eventsTopic, monitorsGroup, monitorStates, points } from '#topics';
import { Agenda } from './agenda.js';
import { KnownSources } from './known-sources.js';
import { MonitorDefinitions } from './monitor-definitions.js';
import { OpenAlerts } from './open-alerts.js';

/** Sources that are looked at in one tick; batches wait meanwhile. */
const maxLooks = 5_000;
/** Pages of known sources that are put on the agenda in one tick. */
const maxPages = 20;
/** When a source is looked at again after a failure, milliseconds. */
const lookFailedMs = 1_000;

/**
 * Evaluates the monitors. What was decided of a source stands in its record of the table, and the record holds the transitions until they are
 * in `alerts.v1` and among the events of the source: so each is decided once, whatever comes again after a crash.
 */
@Injectable()
export class MonitorWatch implements Processor {
  readonly group = monitorsGroup;
  readonly table: Table<WatchedSource>;
  readonly inputs = [
    on(points, (records, lease) => this.#take(records, lease, afterPoints)),
    on(eventsTopic, (records, lease) => this.#take(records, lease, afterEvents)),
  ];
  /** When which source is to be looked at: because it may be offline by then, or because its definitions have changed. */
  readonly #agenda = new Agenda();
  /** The lease under which all sources are on the agenda, or in `#pages`. */
  #lease: Lease | undefined;
  /** Organizations whose known sources are still to be put on the agenda. */
  readonly #unlisted = new Set<string>();
  /** Keys of their sources. */
  #pages = this.#list();
  /** The lease under which the open alerts are counted. */
  #counted: Lease | undefined;

  constructor(
    @Inject(RECORD_LOG) log: RecordLog,
    private readonly definitions: MonitorDefinitions,
    private readonly known: KnownSources,
    private readonly connections: Connections,
    @Inject(CLOCK) private readonly clock: Clock,
    @Optional() private readonly open: OpenAlerts = new OpenAlerts(),
  ) {
    this.table = new Table(log, monitorStates, { joined });
    this.known.changes((key, orgId) => {
      if (this.#lease?.held()) this.#watch(key, this.definitions.of(key, orgId));
    });
  }

  metrics(): readonly Metric[] {
    return this.open.metrics();
  }

  async tick(nowMs: number, lease: Lease, caughtUpMs: number | undefined): Promise<void> {
    if (lease !== this.#lease) await Promise.all([this.definitions.knownSince(nowMs), this.known.ready, this.connections.ready]);
    if (!lease.held()) return;
    this.#begin(lease);
    this.#putOnAgenda(lease, nowMs);
    this.#putPages(nowMs);
    await this.#lookAt(this.#agenda.take(nowMs, maxLooks), lease, nowMs, caughtUpMs);
  }

  /** Looks at sources that are off the agenda. What fails is on it again, and does not keep the others from their turn. */
  async #lookAt(keys: readonly string[], lease: Lease, nowMs: number, caughtUpMs: number | undefined): Promise<void> {
    const failures: unknown[] = [];
    for (const [at, key] of keys.entries()) {
      if (!lease.held()) return;
      try {
        await this.#look(key, lease, nowMs, caughtUpMs);
      } catch (error) {
        failures.push(error);
        // While the log is away, each of the others would wait for it too.
        const isForAll = error instanceof TelemetryError && error.retryable;
        for (const left of isForAll ? keys.slice(at) : [key]) this.#agenda.put(left, nowMs + lookFailedMs, nowMs);
        if (isForAll) break;
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async #take<V extends PointBatch | EventBatch>(
    records: readonly StreamRecord<V>[],
    lease: Lease,
    after: (watched: WatchedSource, monitors: readonly Monitor[], batch: V, mayOpen: boolean) => Iterable<Step>,
  ): Promise<void> {
    await this.definitions.knownSince(records.at(-1)!.appendedMs);
    if (!lease.held()) return;
    this.#begin(lease);
    for (const { key, value } of records) {
      if (value?.deleted) {
        if (this.#isEnding(key, value, value.deleted)) await this.#delete(key, value, value.deleted, lease);
        if (!lease.held()) return;
        continue;
      }
      const monitors = value ? this.definitions.of(key, value.orgId) : [];
      if (!value || monitors.length === 0) continue;
      if (!lease.held()) return;
      for (const step of after(this.#stateOf(key), monitors, value, this.open.hasRoom(value.orgId))) {
        await this.#keep(key, step, lease, value.receivedMs);
        if (!lease.held()) return;
      }
      this.#watch(key, monitors);
    }
  }

  /**
   * Whether a deletion ends what is known of its source. The topics of points and of events both have the deletion, and the one of points counts. But events
   * from before the deletion may be read behind it. They make the source known again, so that it would be missed: then the deletion in the events counts too.
   */
  #isEnding(key: string, batch: PointBatch | EventBatch, { metric }: Deletion): boolean {
    return 'series' in batch || (metric === null && isOnlyHeardUntil(this.#stateOf(key), batch.receivedMs));
  }

  /**
   * The alerts of what is deleted resolve; no event says so in the log of a source that is gone. Silence of the source matters no more, unless a monitor
   * names it: that waits for it from now on.
   */
  async #delete(key: string, { orgId, receivedMs }: PointBatch | EventBatch, { metric }: Deletion, lease: Lease): Promise<void> {
    const monitors = this.definitions.of(key, orgId);
    const left = metric === null ? [] : monitors.filter((monitor) => monitor.metric !== metric);
    const before = this.#stateOf(key);
    for (const step of withOnly(before, left, receivedMs)) {
      await this.#keep(key, step, lease, metric === null ? undefined : receivedMs);
      if (!lease.held()) return;
    }
    if (metric !== null) return;
    this.#agenda.put(key, Infinity, receivedMs);
    const named = monitors.filter(({ sourceId, offline }) => sourceId !== everySource && offline);
    if (named.length === 0) return this.#end(key, lease);
    this.table.set(key, { ...unwatched(orgId, before.sourceId), heardMs: receivedMs });
    this.#watch(key, named);
  }

  /** Before any work under a lease: what was known under another one is known no more. */
  #begin(lease: Lease): void {
    if (lease === this.#counted) return;
    this.open.begin(this.table.entries());
    this.#counted = lease;
  }

  /** Under a new lease all sources, for others had them and definitions may have changed meanwhile; then those whose definitions change. */
  #putOnAgenda(lease: Lease, nowMs: number): void {
    const changed = this.definitions.takeChanged();
    const isNew = lease !== this.#lease;
    if (!isNew && changed.size === 0) return;
    if (isNew) this.#forget();
    this.#lease = lease;
    for (const key of isNew ? this.definitions.sources() : changed)
      if (isSource(key) && this.table.owns(key)) this.#agenda.put(key, nowMs, nowMs);
    for (const [key, { orgId }] of this.table.entries()) if (isNew || changed.has(orgId)) this.#agenda.put(key, nowMs, nowMs);
    for (const [orgId, its] of this.definitions.ofEverySource())
      if ((isNew || changed.has(orgId)) && its.some(({ offline }) => offline)) this.#unlisted.add(orgId);
  }

  #forget(): void {
    this.#agenda.clear();
    this.#unlisted.clear();
    this.#pages = this.#list();
  }

  /** A source may be silent that nothing has come from since it is watched: it has no state yet. */
  #putPages(nowMs: number): void {
    for (let pages = 0; pages < maxPages; pages++) {
      const { done, value: keys } = this.#pages.next();
      if (done) {
        this.#pages = this.#list();
        return;
      }
      for (const key of keys) if (this.table.owns(key)) this.#agenda.put(key, nowMs, nowMs);
    }
  }

  /** Goes on to organizations that are added meanwhile. */
  *#list(): Generator<readonly string[], undefined> {
    for (const orgId of this.#unlisted) {
      this.#unlisted.delete(orgId);
      yield* this.known.of(orgId);
    }
  }

  /** A source whose time has come and that is not caught up stays on the agenda: it is looked at again in the next tick. */
  async #look(key: string, lease: Lease, nowMs: number, caughtUpMs = -Infinity): Promise<void> {
    const before = this.#stateOf(key);
    const { orgId, sourceId } = before;
    const monitors = this.definitions.of(key, orgId);
    // It was deleted since it came on the agenda.
    if (!this.table.get(key) && monitors.every((monitor) => monitor.sourceId === everySource) && !this.known.has(key)) return;
    const isConnected = monitors.some(({ offline }) => offline) && this.connections.newest(orgId, sourceId) !== undefined;
    const mayOpen = this.open.hasRoom(orgId);
    let state = before;
    for (const step of afterLooking(before, monitors, isConnected, nowMs, caughtUpMs, mayOpen)) {
      await this.#keep(key, step, lease, nowMs);
      if (!lease.held()) return;
      ({ state } = step);
    }
    if (monitors.length === 0) await this.#end(key, lease);
    else this.#agenda.put(key, Math.max(lookMs(state, monitors, nowMs), mayOpen ? nowMs : nowMs + lookAgainMs), nowMs);
  }

  /** A source that is heard for the first time is on the agenda from now on, where its silence matters. */
  #watch(key: string, monitors: readonly Monitor[]): void {
    if (this.#agenda.has(key) || !monitors.some(({ offline }) => offline) || !this.table.owns(key)) return;
    const nowMs = this.clock();
    this.#agenda.put(key, nowMs, nowMs);
  }

  /** Nothing is known of a source that nobody watches any more. */
  async #end(key: string, lease: Lease): Promise<void> {
    if (!lease.held() || !this.table.get(key)) return;
    await this.table.settle();
    if (lease.held()) this.table.set(key, null);
  }

  /** Keeps what is new. @param receivedMs when the events of the transitions came, as the events say; undefined where no event tells of them. */
  async #keep(key: string, { state, alerts: its }: Step, lease: Lease, receivedMs: number | undefined): Promise<void> {
    if (its.length === 0 && isNothing(state, this.table.get(key))) return;
    const { orgId, sourceId } = state;
    const outputs = outputsOf({ orgId, sourceId, alerts: its }, receivedMs);
    if (!this.table.hasRoom(key, outputs)) await this.table.settle();
    if (!lease.held()) return;
    this.table.set(key, state, outputs);
    this.open.count(orgId, its);
  }

  #stateOf(key: string): WatchedSource {
    const slash = key.indexOf('/');
    return this.table.get(key) ?? unwatched(key.slice(0, slash), key.slice(slash + 1));
  }
}

const afterEvents = (watched: WatchedSource, monitors: readonly Monitor[], { origin, receivedMs }: EventBatch): Iterable<Step> =>
  origin === 'source' ? afterSending(watched, monitors, receivedMs) : [];

const outputsOf = (batch: AlertBatch, receivedMs: number | undefined): readonly Entry[] => {
  if (batch.alerts.length === 0) return [];
  const events = receivedMs === undefined ? [] : [entry(eventsTopic, alertEvents(batch, receivedMs))];
  return [entry(alerts, batch), ...events];
};

/**
 * All transitions that one record of the table holds are one record of `alerts.v1`: of the records of a source only the last one may come again
 * after a crash, and whoever reads them needs to know only the last one to see that.
 */
function joined(earlier: Entry, later: Entry): Entry | undefined {
  if (later.topic !== alerts) return undefined;
  const [first, next] = [earlier.value as AlertBatch, later.value as AlertBatch];
  return entry(alerts, { ...first, alerts: [...first.alerts, ...next.alerts] });
}

/** Whether there is nothing to write: nothing has changed, or nothing is known. */
const isNothing = (state: WatchedSource, known: WatchedSource | undefined): boolean =>
  known ? state === known : state.heardMs === 0 && !state.isConnected && state.monitors.length === 0;

/** Not the id of an organization, which has no slash. */
const isSource = (key: string): boolean => key.includes('/');

import { resolved, triggered, type Alert } from './alert.js';
import type { Monitor } from './monitor.js';
import type { PointBatch, SeriesRun } from './point.js';
import { calmUntil, decide, evolve, nothingEvaluated, readingsOf, type ThresholdState } from './threshold.js';

/** What one definition of a monitor knows of one source. */
export interface MonitorState extends ThresholdState {
  readonly monitorId: string;
  readonly definedMs: number;
  /** The open alert of a source that is offline. */
  readonly offlineAlert: Alert | null;
}

/** What all monitors of a source know of it. */
export interface WatchedSource {
  readonly orgId: string;
  readonly sourceId: string;
  /** When it was last heard, by the server's clock: it sent something, or was seen without the connection that it had. */
  readonly heardMs: number;
  /** Whether it had a connection when somebody last looked. */
  readonly isConnected: boolean;
  readonly monitors: readonly MonitorState[];
}

/** What was decided together: the state after it, and the transitions in their order. */
export interface Step {
  readonly state: WatchedSource;
  readonly alerts: readonly Alert[];
}

/** The transitions of one step have about so many bytes of JSON at most, or are one. */
export const maxStepBytes = 12_000;

/** Of one alert: names and a message that JSON writes with escapes may take as many again. */
const bytesOf = ({ metric, sourceId, threshold, offline }: Alert): number =>
  600 + 2 * ((metric?.length ?? 0) + sourceId.length + (threshold ?? offline)!.message.length);

export const unwatched = (orgId: string, sourceId: string): WatchedSource => ({
  orgId,
  sourceId,
  heardMs: 0,
  isConnected: false,
  monitors: [],
});

/** Whether nothing was heard of a source after a time, and no point of it was evaluated. */
export const isOnlyHeardUntil = ({ heardMs, monitors }: WatchedSource, atMs: number): boolean =>
  heardMs <= atMs && monitors.every(({ evaluatedMs }) => evaluatedMs === nothingEvaluated.evaluatedMs);

/** A state that follows, and the transition that led to it; none where only what is known has changed. */
interface Change {
  readonly state: WatchedSource;
  readonly alert?: Alert;
}

/** Changes in steps of bounded size, at least one. Each step is whole: whoever goes on from it comes to the same end. */
function* inSteps(before: WatchedSource, changes: Iterable<Change>): Generator<Step> {
  let [state, alerts, bytes]: [WatchedSource, Alert[], number] = [before, [], 0];
  for (const change of changes) {
    const { alert } = change;
    if (alert) {
      const more = bytesOf(alert);
      if (bytes + more > maxStepBytes && alerts.length > 0) {
        yield { state, alerts };
        [alerts, bytes] = [[], 0];
      }
      alerts.push(alert);
      bytes += more;
    }
    state = change.state;
  }
  yield { state, alerts };
}

/** The state after all changes. */
const lastOf = (before: WatchedSource, changes: readonly Change[]): WatchedSource => changes.at(-1)?.state ?? before;

/**
 * What a record of points makes of its source, in steps of bounded size, at least one. Each is whole: whoever goes on from it with the same
 * record, perhaps after a crash, comes to the same end.
 *
 * @param monitors those of the source that hold now.
 * @param mayOpen false where no alert may fire that is not open. It fires later, while its condition still lasts.
 */
export const afterPoints = (watched: WatchedSource, monitors: readonly Monitor[], batch: PointBatch, mayOpen = true): Generator<Step> =>
  inSteps(watched, changesOfPoints(watched, monitors, batch, mayOpen));

function* changesOfPoints(watched: WatchedSource, monitors: readonly Monitor[], batch: PointBatch, mayOpen: boolean): Generator<Change> {
  const before = changesOfSending(watched, monitors, batch.receivedMs);
  yield* before;
  let state = lastOf(watched, before);
  const runs = runsByMetric(monitors, batch);
  for (const monitor of monitors) {
    const its = monitor.threshold && runs.get(monitor.metric!);
    let known = stateOf(state, monitor);
    if (!its || batch.receivedMs < monitor.definedMs || known.definedMs !== monitor.definedMs) continue;
    const calmMs = calmUntil(monitor.threshold, its, known, batch.receivedMs);
    if (calmMs !== undefined) {
      if (calmMs > known.evaluatedMs) state = withState(state, { ...known, evaluatedMs: calmMs });
      continue;
    }
    const readings = readingsOf(monitor.threshold, its, known, batch.receivedMs);
    if (readings.length === 0) continue;
    for (const reading of readings) {
      const alert = known.alert || mayOpen ? decide(monitor, state.sourceId, known, reading) : null;
      known = evolve(known, monitor.threshold, reading, alert);
      if (alert) yield { state: (state = withState(state, known)), alert };
    }
    state = withState(state, known);
  }
  yield { state };
}

function runsByMetric(monitors: readonly Monitor[], { series }: PointBatch): ReadonlyMap<string, readonly SeriesRun[]> {
  const wanted = new Set(monitors.map(({ metric }) => metric));
  return Map.groupBy(
    series.filter(({ metric }) => wanted.has(metric)),
    ({ metric }) => metric,
  );
}

/**
 * What follows when a source has sent anything: it is not offline. In steps as `afterPoints`.
 *
 * @param receivedMs a record that is not newer than all before it, such as one that comes again after a crash, says nothing new.
 */
export const afterSending = (watched: WatchedSource, monitors: readonly Monitor[], receivedMs: number): Generator<Step> =>
  inSteps(watched, changesOfSending(watched, monitors, receivedMs));

function changesOfSending(watched: WatchedSource, monitors: readonly Monitor[], receivedMs: number): readonly Change[] {
  const changes = underDefinitions(watched, monitors, receivedMs);
  const state = lastOf(watched, changes);
  const isNews = receivedMs > state.heardMs && monitors.some(({ offline }) => offline);
  return isNews ? [...changes, ...heard(state, receivedMs, (closed) => ({ ...closed, heardMs: receivedMs }))] : changes;
}

/** What follows once only these monitors hold for a source: what the others knew of it ends, and so do their alerts. In steps as `afterPoints`. */
export const withOnly = (watched: WatchedSource, monitors: readonly Monitor[], atMs: number): Generator<Step> =>
  inSteps(watched, underDefinitions(watched, monitors, atMs));

/**
 * Closes what is open because of silence.
 *
 * @param noted the state with what was heard. It comes last: with the alerts closed in part, what was heard is news still.
 */
function heard(before: WatchedSource, atMs: number, noted: (closed: WatchedSource) => WatchedSource): readonly Change[] {
  let state = before;
  const changes: Change[] = [];
  for (const one of before.monitors) {
    if (!one.offlineAlert) continue;
    state = withState(state, { ...one, offlineAlert: null });
    changes.push({ state, alert: resolved(one.offlineAlert, 'heard', atMs) });
  }
  return [...changes, { state: noted(state) }];
}

/**
 * What follows from whether a source has a connection now, in steps as `afterPoints`.
 *
 * @param caughtUpMs all that was sent before this time is known, Unix milliseconds: silence is judged as of then.
 * @param mayOpen as of `afterPoints`.
 */
export const afterLooking = (
  watched: WatchedSource,
  monitors: readonly Monitor[],
  isConnected: boolean,
  nowMs: number,
  caughtUpMs: number,
  mayOpen = true,
): Generator<Step> => inSteps(watched, changesOfLooking(watched, monitors, isConnected, nowMs, mayOpen ? caughtUpMs : -Infinity));

function* changesOfLooking(
  watched: WatchedSource,
  monitors: readonly Monitor[],
  isConnected: boolean,
  nowMs: number,
  caughtUpMs: number,
): Generator<Change> {
  const before = underDefinitions(watched, monitors, nowMs);
  yield* before;
  let state = lastOf(watched, before);
  if (isConnected) {
    yield* heard(state, nowMs, (closed) => seen(closed, true, closed.heardMs));
    return;
  }
  // When the connection has ended is not known better than that it was there at the last look.
  state = seen(state, false, state.isConnected ? Math.max(state.heardMs, nowMs) : state.heardMs);
  yield { state };
  for (const monitor of monitors) {
    const alert = silenceOf(state, monitor, caughtUpMs);
    if (alert) yield { state: (state = withState(state, { ...stateOf(state, monitor), offlineAlert: alert })), alert };
  }
}

/** The same object where nothing is new: there is nothing to write then. */
const seen = (state: WatchedSource, isConnected: boolean, heardMs: number): WatchedSource =>
  state.isConnected === isConnected && state.heardMs === heardMs ? state : { ...state, isConnected, heardMs };

/** The alert that a monitor opens at a time because the source is not connected and silent; undefined when it opens none. */
function silenceOf(state: WatchedSource, monitor: Monitor, atMs: number): Alert | undefined {
  const { offline } = monitor;
  const known = stateOf(state, monitor);
  const isSettled = !offline || known.offlineAlert || known.definedMs !== monitor.definedMs;
  if (isSettled || atMs < silentMs(state, monitor)) return undefined;
  return triggered(monitor, state.sourceId, { threshold: null, offline }, { timestampMs: atMs, value: null });
}

/** When a source that is not connected has been silent for too long; Infinity when no monitor asks. */
const silentMs = ({ heardMs }: WatchedSource, { offline, definedMs }: Monitor): number =>
  offline ? Math.max(heardMs, definedMs) + offline.timeoutMs : Infinity;

/** How often a source is looked at that is connected, or offline: a connection that begins or ends is noticed after so long at most. */
export const lookAgainMs = 5_000;

/** When it has to be looked next whether a source is connected, Unix milliseconds; Infinity when no monitor asks. */
export function lookMs(state: WatchedSource, monitors: readonly Monitor[], lookedMs: number): number {
  const asking = monitors.filter(({ offline }) => offline);
  if (asking.length === 0) return Infinity;
  const silent = asking.filter((monitor) => !stateOf(state, monitor).offlineAlert).map((monitor) => silentMs(state, monitor));
  const again = lookedMs + lookAgainMs;
  if (state.isConnected) return again;
  return silent.length < asking.length ? Math.min(again, ...silent) : Math.min(...silent);
}

/**
 * The source under the definitions that hold now: what older ones knew ends with them, and so do their open alerts. A state of a newer
 * definition than the one that is known here is left alone.
 */
function underDefinitions(before: WatchedSource, monitors: readonly Monitor[], atMs: number): readonly Change[] {
  let state = before;
  const changes: Change[] = [];
  for (const one of before.monitors) {
    const monitor = monitors.find(({ monitorId }) => monitorId === one.monitorId);
    if (monitor && one.definedMs >= monitor.definedMs) continue;
    const { alert, offlineAlert } = one;
    if (alert && offlineAlert) changes.push({ state: withState(state, { ...one, alert: null }), alert: ended(alert, monitor, atMs) });
    state = without(state, one);
    const last = offlineAlert ?? alert;
    changes.push({ state, ...(last && { alert: ended(last, monitor, atMs) }) });
  }
  return changes;
}

/** @param next the definition that took the place of the alert's own; undefined when there is none. */
const ended = (alert: Alert, next: Monitor | undefined, atMs: number): Alert =>
  next ? resolved(alert, 'changed', next.definedMs) : resolved(alert, 'deleted', atMs);

const stateOf = ({ monitors }: WatchedSource, { monitorId, definedMs }: Monitor): MonitorState =>
  monitors.find((one) => one.monitorId === monitorId) ?? { monitorId, definedMs, ...nothingEvaluated, offlineAlert: null };

const without = (state: WatchedSource, known: MonitorState): WatchedSource => ({
  ...state,
  monitors: state.monitors.filter(({ monitorId }) => monitorId !== known.monitorId),
});

function withState(state: WatchedSource, known: MonitorState): WatchedSource {
  const { monitors } = state;
  const at = monitors.findIndex(({ monitorId }) => monitorId === known.monitorId);
  return { ...state, monitors: at < 0 ? [...monitors, known] : monitors.with(at, known) };
}

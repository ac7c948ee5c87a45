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

/**
 * What a record of points makes of its source, in steps of bounded size, at least one. Each is whole: whoever goes on from it with the same
 * record, perhaps after a crash, comes to the same end.
 *
 * @param monitors those of the source that hold now.
 */
export function* afterPoints(watched: WatchedSource, monitors: readonly Monitor[], batch: PointBatch): Generator<Step> {
  let { state, alerts } = afterSending(watched, monitors, batch.receivedMs);
  let bytes = sum(alerts);
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
      const alert = decide(monitor, state.sourceId, known, reading);
      if (alert && bytes + bytesOf(alert) > maxStepBytes && alerts.length > 0) {
        yield { state: withState(state, known), alerts };
        [alerts, bytes] = [[], 0];
      }
      known = evolve(known, monitor.threshold, reading, alert);
      if (!alert) continue;
      alerts = [...alerts, alert];
      bytes += bytesOf(alert);
    }
    state = withState(state, known);
  }
  yield { state, alerts };
}

const sum = (alerts: readonly Alert[]): number => alerts.reduce((bytes, alert) => bytes + bytesOf(alert), 0);

function runsByMetric(monitors: readonly Monitor[], { series }: PointBatch): ReadonlyMap<string, readonly SeriesRun[]> {
  const wanted = new Set(monitors.map(({ metric }) => metric));
  return Map.groupBy(
    series.filter(({ metric }) => wanted.has(metric)),
    ({ metric }) => metric,
  );
}

/**
 * What follows when a source has sent anything: it is not offline.
 *
 * @param receivedMs a record that is not newer than all before it, such as one that comes again after a crash, says nothing new.
 */
export function afterSending(watched: WatchedSource, monitors: readonly Monitor[], receivedMs: number): Step {
  const { state, alerts } = underDefinitions(watched, monitors, receivedMs);
  const isNews = receivedMs > state.heardMs && monitors.some(({ offline }) => offline);
  return isNews ? heard({ ...state, heardMs: receivedMs }, alerts, receivedMs) : { state, alerts };
}

function heard(state: WatchedSource, alerts: readonly Alert[], atMs: number): Step {
  const open = state.monitors.flatMap(({ offlineAlert }) => offlineAlert ?? []);
  if (open.length === 0) return { state, alerts };
  return {
    state: { ...state, monitors: state.monitors.map((one) => ({ ...one, offlineAlert: null })) },
    alerts: [...alerts, ...open.map((alert) => resolved(alert, 'heard', atMs))],
  };
}

/**
 * What follows from whether a source has a connection now.
 *
 * @param caughtUpMs all that was sent before this time is known, Unix milliseconds: silence is judged as of then.
 */
export function afterLooking(
  watched: WatchedSource,
  monitors: readonly Monitor[],
  isConnected: boolean,
  nowMs: number,
  caughtUpMs: number,
): Step {
  const { state, alerts } = underDefinitions(watched, monitors, nowMs);
  if (isConnected) return heard(seen(state, true, state.heardMs), alerts, nowMs);
  // When the connection has ended is not known better than that it was there at the last look.
  const heardMs = state.isConnected ? Math.max(state.heardMs, nowMs) : state.heardMs;
  return monitors.reduce<Step>(lookAt(caughtUpMs), { state: seen(state, false, heardMs), alerts });
}

/** The same object where nothing is new: there is nothing to write then. */
const seen = (state: WatchedSource, isConnected: boolean, heardMs: number): WatchedSource =>
  state.isConnected === isConnected && state.heardMs === heardMs ? state : { ...state, isConnected, heardMs };

const lookAt =
  (atMs: number) =>
  ({ state, alerts }: Step, monitor: Monitor): Step => {
    const known = stateOf(state, monitor);
    const { offline } = monitor;
    const isSettled = !offline || known.offlineAlert || known.definedMs !== monitor.definedMs;
    if (isSettled || atMs < silentMs(state, monitor)) return { state, alerts };
    const offlineAlert = triggered(monitor, state.sourceId, { threshold: null, offline }, { timestampMs: atMs, value: null });
    return { state: withState(state, { ...known, offlineAlert }), alerts: [...alerts, offlineAlert] };
  };

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
export function underDefinitions(state: WatchedSource, monitors: readonly Monitor[], atMs: number): Step {
  const kept: MonitorState[] = [];
  const alerts: Alert[] = [];
  for (const one of state.monitors) {
    const monitor = monitors.find(({ monitorId }) => monitorId === one.monitorId);
    if (monitor && one.definedMs >= monitor.definedMs) kept.push(one);
    else for (const alert of [one.alert, one.offlineAlert]) if (alert) alerts.push(ended(alert, monitor, atMs));
  }
  return { state: kept.length === state.monitors.length ? state : { ...state, monitors: kept }, alerts };
}

/** @param next the definition that took the place of the alert's own; undefined when there is none. */
const ended = (alert: Alert, next: Monitor | undefined, atMs: number): Alert =>
  next ? resolved(alert, 'changed', next.definedMs) : resolved(alert, 'deleted', atMs);

const stateOf = ({ monitors }: WatchedSource, { monitorId, definedMs }: Monitor): MonitorState =>
  monitors.find((one) => one.monitorId === monitorId) ?? { monitorId, definedMs, ...nothingEvaluated, offlineAlert: null };

function withState(state: WatchedSource, known: MonitorState): WatchedSource {
  const others = state.monitors.filter(({ monitorId }) => monitorId !== known.monitorId);
  return { ...state, monitors: [...others, known] };
}

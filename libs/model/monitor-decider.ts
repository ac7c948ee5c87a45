import type { Decider } from './decider.js';
import {
  flawsOfDefinition,
  isMonitorId,
  isSameDefinition,
  maxMonitors,
  maxMonitorsPerSource,
  maxOfflineMonitorsPerSource,
  type Monitor,
  type MonitorDefinition,
} from './monitor.js';
import { isOrgId } from './names.js';
import type { Asked } from './once.js';

/** Asks to define or to delete a monitor of one organization. */
export type MonitorCommand = Asked & {
  readonly monitorId: string;
} & (
    | {
        /** Defines the monitor of this source and metric: the one that there is, or a new one under this id. */
        readonly does: 'define';
        readonly definition: MonitorDefinition;
        readonly basedOnMs: null;
      }
    | {
        /** Gives a monitor another definition of the same source and metric, if the one that it was made from still holds. */
        readonly does: 'change';
        readonly definition: MonitorDefinition;
        /** `definedMs` of that one. */
        readonly basedOnMs: number;
      }
    | { readonly does: 'delete'; readonly definition: null; readonly basedOnMs: null }
  );

/** What became of a command; all but the first two are refusals. */
export type MonitorOutcome =
  | 'defined'
  | 'deleted'
  | 'unknown_monitor'
  | 'outdated'
  | 'too_many'
  | 'too_many_of_source'
  | 'too_many_offline';

export interface MonitorsState {
  /** By their ids. */
  readonly monitors: ReadonlyMap<string, Monitor>;
}

export interface MonitorEvent {
  readonly outcome: MonitorOutcome;
  /** Id of the monitor concerned: for `define`, the existing one where there is one. */
  readonly monitorId: string;
  readonly before?: Monitor;
  /** The monitor as it is from now on; the one before where nothing changes, none where it ends or the command is refused. */
  readonly after?: Monitor;
}

/** Which monitors an organization has: one for each source and metric, and no more than the limits. */
export const monitorDecider: Decider<MonitorsState, MonitorCommand, MonitorEvent> = {
  initial: { monitors: new Map() },

  decide: (state, command, nowMs) => [outcomeOf(state, command, nowMs)],

  evolve(state, { outcome, monitorId, after }) {
    const monitors = new Map(state.monitors);
    if (after) monitors.set(monitorId, after);
    if (outcome === 'deleted') monitors.delete(monitorId);
    return { monitors };
  },
};

function outcomeOf({ monitors }: MonitorsState, command: MonitorCommand, atMs: number): MonitorEvent {
  const { does, monitorId } = command;
  if (does === 'define') return defined(monitors, command, command.definition, atMs);
  const before = monitors.get(monitorId);
  if (!before) return { outcome: 'unknown_monitor', monitorId };
  if (does === 'delete') return { outcome: 'deleted', monitorId, before };
  const isOutdated = before.definedMs !== command.basedOnMs || !isOfTheSame(before, command.definition);
  return isOutdated ? { outcome: 'outdated', monitorId } : redefined(monitors, before, command.definition, atMs);
}

function defined(
  monitors: MonitorsState['monitors'],
  { orgId, monitorId }: MonitorCommand,
  definition: MonitorDefinition,
  atMs: number,
): MonitorEvent {
  let ofSource = 0;
  for (const one of monitors.values()) {
    if (one.sourceId === definition.sourceId) ofSource++;
    if (isOfTheSame(one, definition)) return redefined(monitors, one, definition, atMs);
  }
  if (monitors.size >= maxMonitors) return { outcome: 'too_many', monitorId };
  if (ofSource >= maxMonitorsPerSource) return { outcome: 'too_many_of_source', monitorId };
  if (isOneTooManyOffline(monitors, definition)) return { outcome: 'too_many_offline', monitorId };
  return { outcome: 'defined', monitorId, after: { ...definition, orgId, monitorId, createdMs: atMs, definedMs: atMs } };
}

/** The same definition once more changes nothing: an open alert goes on. */
function redefined(monitors: MonitorsState['monitors'], before: Monitor, definition: MonitorDefinition, atMs: number): MonitorEvent {
  const { monitorId, orgId, createdMs } = before;
  if (isSameDefinition(before, definition)) return { outcome: 'defined', monitorId, before, after: before };
  if (!before.offline && isOneTooManyOffline(monitors, definition)) return { outcome: 'too_many_offline', monitorId };
  const definedMs = Math.max(atMs, before.definedMs + 1);
  return { outcome: 'defined', monitorId, before, after: { ...definition, orgId, monitorId, createdMs, definedMs } };
}

/** Whether there is no room for a definition with `offline`, where there was none. */
function isOneTooManyOffline(monitors: MonitorsState['monitors'], { sourceId, offline }: MonitorDefinition): boolean {
  if (!offline) return false;
  const its = Iterator.from(monitors.values()).filter((one) => one.sourceId === sourceId && one.offline);
  return its.drop(maxOfflineMonitorsPerSource - 1).some(() => true);
}

const isOfTheSame = (a: MonitorDefinition, b: MonitorDefinition): boolean => a.sourceId === b.sourceId && a.metric === b.metric;

/** What a command says that makes no sense, in words; undefined when there is nothing. */
export function flawOfMonitorCommand({ orgId, monitorId, does, definition, basedOnMs }: MonitorCommand): string | undefined {
  if (!isOrgId(orgId)) return 'the organization id is not one';
  if (!isMonitorId(monitorId)) return 'the monitor id is not one';
  if ((does === 'delete') !== (definition === null)) return 'a command holds its definition, and one to delete holds none';
  if ((does === 'change') !== (basedOnMs !== null)) return 'a command that changes a monitor says which definition it was made from';
  const [first] = definition ? flawsOfDefinition(definition) : [];
  return first && `${first.pointer}: ${first.detail}`;
}

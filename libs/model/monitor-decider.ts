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

/** The monitors of one organization. There is no list of them all: there may be 10,000, and one decision needs those of one source. */
export interface MonitorsState {
  readonly count: number;
  find(monitorId: string): Monitor | undefined;
  /** The monitors of a source, in no order. */
  of(sourceId: string): readonly Monitor[];
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
  initial: { count: 0, find: () => undefined, of: () => [] },

  decide: (state, command, nowMs) => [outcomeOf(state, command, nowMs)],

  evolve(state, { monitorId, before, after }) {
    const changed = after ?? before;
    if (!changed || after === before) return state;
    const others = state.of(changed.sourceId).filter((one) => one.monitorId !== monitorId);
    const siblings = after ? [...others, after] : others;
    return {
      count: state.count + (after ? 1 : 0) - (before ? 1 : 0),
      find: (id) => (id === monitorId ? after : state.find(id)),
      of: (sourceId) => (sourceId === changed.sourceId ? siblings : state.of(sourceId)),
    };
  },
};

function outcomeOf(state: MonitorsState, command: MonitorCommand, atMs: number): MonitorEvent {
  const { does, monitorId } = command;
  if (does === 'define') return defined(state, command, command.definition, atMs);
  const before = state.find(monitorId);
  if (!before) return { outcome: 'unknown_monitor', monitorId };
  if (does === 'delete') return { outcome: 'deleted', monitorId, before };
  const isOutdated = before.definedMs !== command.basedOnMs || !isOfTheSame(before, command.definition);
  return isOutdated ? { outcome: 'outdated', monitorId } : redefined(state, before, command.definition, atMs);
}

function defined(state: MonitorsState, { orgId, monitorId }: MonitorCommand, definition: MonitorDefinition, atMs: number): MonitorEvent {
  const siblings = state.of(definition.sourceId);
  const before = siblings.find((one) => isOfTheSame(one, definition));
  if (before) return redefined(state, before, definition, atMs);
  if (state.count >= maxMonitors) return { outcome: 'too_many', monitorId };
  if (siblings.length >= maxMonitorsPerSource) return { outcome: 'too_many_of_source', monitorId };
  if (isOneTooManyOffline(state, definition)) return { outcome: 'too_many_offline', monitorId };
  return { outcome: 'defined', monitorId, after: { ...definition, orgId, monitorId, createdMs: atMs, definedMs: atMs } };
}

/** The same definition once more changes nothing: an open alert goes on. */
function redefined(state: MonitorsState, before: Monitor, definition: MonitorDefinition, atMs: number): MonitorEvent {
  const { monitorId, orgId, createdMs } = before;
  if (isSameDefinition(before, definition)) return { outcome: 'defined', monitorId, before, after: before };
  if (!before.offline && isOneTooManyOffline(state, definition)) return { outcome: 'too_many_offline', monitorId };
  const definedMs = Math.max(atMs, before.definedMs + 1);
  return { outcome: 'defined', monitorId, before, after: { ...definition, orgId, monitorId, createdMs, definedMs } };
}

/** Whether there is no room for a definition with `offline`, where there was none. */
const isOneTooManyOffline = (state: MonitorsState, { sourceId, offline }: MonitorDefinition): boolean =>
  offline !== null && state.of(sourceId).filter((one) => one.offline).length >= maxOfflineMonitorsPerSource;

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

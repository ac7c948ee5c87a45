import { flawOfAlertTarget, flawsOfTarget, maxTargets, rotated, type AlertTarget } from './alert-target.js';
import type { Decider } from './decider.js';
import type { Severity } from './monitor.js';
import { isOrgId } from './names.js';
import type { Asked } from './once.js';

/** What is to be another way; null is as it was. */
export interface TargetChange {
  readonly name: string | null;
  readonly to: string | null;
  readonly minSeverity: Severity | null;
  readonly isPaused: boolean | null;
}

/** Asks for a change of where an organization is told of alerts. */
export type TargetCommand = Asked & { readonly targetId: string } & (
    | { readonly does: 'create'; readonly target: AlertTarget; readonly change: null; readonly changedMs: null; readonly secret: null }
    | { readonly does: 'change'; readonly target: null; readonly change: TargetChange; readonly changedMs: null; readonly secret: null }
    | {
        /** Every attempt of a day has failed, or the target has answered that it is gone. */
        readonly does: 'give_up' | 'gone';
        readonly target: null;
        readonly change: null;
        /** Of the target that was attempted: one that was changed since then is not meant. */
        readonly changedMs: number;
        readonly secret: null;
      }
    | {
        /** Another secret for a webhook. */
        readonly does: 'rotate';
        readonly target: null;
        readonly change: null;
        readonly changedMs: null;
        readonly secret: string;
      }
    | { readonly does: 'delete'; readonly target: null; readonly change: null; readonly changedMs: null; readonly secret: null }
  );

/** What became of a command; the last four are refusals. */
export type TargetOutcome =
  | 'created'
  | 'changed'
  | 'given_up'
  | 'rotated'
  | 'deleted'
  | 'unknown_target'
  | 'outdated'
  | 'too_many'
  | 'unsigned';

export interface TargetsState {
  /** By their ids. */
  readonly targets: ReadonlyMap<string, AlertTarget>;
}

export interface TargetEvent {
  readonly outcome: TargetOutcome;
  readonly targetId: string;
  readonly before?: AlertTarget;
  /** The target as it is from now on; none where it ends or the command is refused. */
  readonly after?: AlertTarget;
}

/** Where an organization is told of alerts: no more targets than the limit, and none paused for what was wrong before somebody changed it. */
export const targetDecider: Decider<TargetsState, TargetCommand, TargetEvent> = {
  initial: { targets: new Map() },

  decide: (state, command, nowMs) => [outcomeOf(state, command, nowMs)],

  evolve(state, { outcome, targetId, after }) {
    const targets = new Map(state.targets);
    if (after) targets.set(targetId, after);
    if (outcome === 'deleted') targets.delete(targetId);
    return { targets };
  },
};

function outcomeOf({ targets }: TargetsState, command: TargetCommand, nowMs: number): TargetEvent {
  const { does, targetId } = command;
  const before = targets.get(targetId);
  if (does === 'create') {
    if (targets.size >= maxTargets) return { outcome: 'too_many', targetId };
    return { outcome: 'created', targetId, after: { ...command.target, createdMs: nowMs, changedMs: nowMs } };
  }
  if (!before) return { outcome: 'unknown_target', targetId };
  if (does === 'delete') return { outcome: 'deleted', targetId, before };
  const changedMs = Math.max(nowMs, before.changedMs + 1);
  if (does === 'change') return { outcome: 'changed', targetId, before, after: { ...changed(before, command.change), changedMs } };
  if (does === 'rotate') {
    if (before.kind !== 'webhook') return { outcome: 'unsigned', targetId };
    return { outcome: 'rotated', targetId, before, after: { ...rotated(before, command.secret, nowMs), changedMs } };
  }
  const isMeant = before.changedMs === command.changedMs && before.paused === null;
  return isMeant
    ? { outcome: 'given_up', targetId, before, after: { ...before, paused: does === 'gone' ? 'gone' : 'failing', changedMs } }
    : { outcome: 'outdated', targetId };
}

const changed = (before: AlertTarget, { name, to, minSeverity, isPaused }: TargetChange): AlertTarget => ({
  ...before,
  name: name ?? before.name,
  to: to ?? before.to,
  minSeverity: minSeverity ?? before.minSeverity,
  paused: isPaused === null ? before.paused : isPaused ? (before.paused ?? 'asked') : null,
});

/** What a command says that makes no sense, in words; undefined when there is nothing. */
export function flawOfTargetCommand({ orgId, targetId, does, target, change, changedMs, secret }: TargetCommand): string | undefined {
  if (!isOrgId(orgId)) return 'the organization id is not one';
  if (
    (does === 'create') !== (target !== null) ||
    (does === 'change') !== (change !== null) ||
    (does === 'rotate') !== (secret !== null) ||
    (does === 'give_up' || does === 'gone') !== (changedMs !== null)
  )
    return 'a command holds what it needs, and nothing else';
  if (!target) return undefined;
  if (target.orgId !== orgId || target.targetId !== targetId) return 'the target is another one than the command names';
  return flawOfAlertTarget(target);
}

/** What is wrong with a target once it is changed so, as `flawsOfTarget` says. */
export const flawsOfChange = (target: AlertTarget, change: TargetChange): ReturnType<typeof flawsOfTarget> =>
  flawsOfTarget(changed(target, change));

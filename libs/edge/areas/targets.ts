import { entry, tombstone } from '#log';
import {
  shownTo,
  targetDecider,
  type AlertTarget,
  type TargetCommand,
  type TargetEvent,
  type TargetOutcome,
  type TargetsState,
} from '#model';
import { alertTargets, targetCommands, targetKey } from '#topics';
import type { Area } from './area.js';

/** Where an organization is told of alerts. */
export const targetsArea: Area<TargetsState, TargetCommand, TargetEvent, TargetOutcome> = {
  name: 'targets',
  topic: targetCommands,
  topics: [alertTargets],
  decider: targetDecider,

  stateIn: (views) => (orgId) => {
    const its = views.open(alertTargets).scan(`${orgId}/`);
    return { targets: new Map(Array.from(its, ([, target]) => [target.targetId, target])) };
  },

  outcomeOf: ({ outcome: word, targetId: about }) => ({ word, about }),

  effectsOf({ before, after }) {
    if (after) return [entry(alertTargets, after)];
    return before ? [tombstone(alertTargets, targetKey(before))] : [];
  },

  auditOf({ outcome, targetId: about, before, after }) {
    const target = after ?? before;
    if (!target) return [];
    return [{ did: `target.${outcome}`, about, text: `${inWords(target)}${outcome === 'given_up' ? `: ${whyPaused(target)}` : ''}` }];
  },
};

const inWords = (target: AlertTarget): string => `${target.name || target.kind} (${shownTo(target)})`;

const whyPaused = ({ paused }: AlertTarget): string =>
  paused === 'gone' ? 'it answers that it is gone' : 'every attempt of a day has failed';

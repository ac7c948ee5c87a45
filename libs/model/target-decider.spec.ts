import { describe, expect, it } from '@jest/globals';
import { maxTargets, rotated, type AlertTarget } from './alert-target.js';
import { flawOfTargetCommand, targetDecider, type TargetChange, type TargetCommand, type TargetsState } from './target-decider.js';

const target: AlertTarget = {
  orgId: 'o',
  targetId: 'a',
  name: 'ops',
  kind: 'webhook',
  to: 'https://example.com/hook',
  minSeverity: 'info',
  secret: 'whsec_c2VjcmV0',
  formerSecret: null,
  createdMs: 1,
  changedMs: 5,
  paused: null,
};
const asked = {
  orgId: 'o',
  id: 'c',
  askedMs: 1,
  by: { id: 'k', name: 'k' },
  targetId: 'a',
  target: null,
  change: null,
  changedMs: null,
  secret: null,
};
const same: TargetChange = { name: null, to: null, minSeverity: null, isPaused: null };
const create = (targetId: string): TargetCommand => ({ ...asked, targetId, does: 'create', target: { ...target, targetId } });
const change = (its: Partial<TargetChange>, targetId = 'a'): TargetCommand => ({
  ...asked,
  targetId,
  does: 'change',
  change: { ...same, ...its },
});
const giveUp = (changedMs: number): TargetCommand => ({ ...asked, does: 'give_up', changedMs });
const gone: TargetCommand = { ...asked, does: 'gone', changedMs: 5 };
const rotate: TargetCommand = { ...asked, does: 'rotate', secret: 'whsec_bmV3' };
const end: TargetCommand = { ...asked, does: 'delete' };

const of = (...targets: readonly AlertTarget[]): TargetsState => ({ targets: new Map(targets.map((one) => [one.targetId, one])) });
const after = (state: TargetsState, command: TargetCommand, nowMs = 9): readonly [string, AlertTarget | undefined] => {
  const [event] = targetDecider.decide(state, command, nowMs);
  const { targets } = targetDecider.evolve(state, event!);
  return [event!.outcome, targets.get(command.targetId)];
};
const paused = { ...target, paused: 'failing' } as const;
const chat = { ...target, kind: 'slack', secret: '' } as const;

describe('a command about targets', () => {
  it.each([
    ['makes one', of(), create('a'), 'created', { ...target, createdMs: 9, changedMs: 9 }],
    [
      'changes what it names',
      of(target),
      change({ name: 'b', to: 'https://b.example/' }),
      'changed',
      { ...target, name: 'b', to: 'https://b.example/', changedMs: 9 },
    ],
    ['pauses', of(target), change({ isPaused: true }), 'changed', { ...target, paused: 'asked', changedMs: 9 }],
    ['keeps why it is paused', of(paused), change({ isPaused: true }), 'changed', { ...paused, changedMs: 9 }],
    ['resumes', of(paused), change({ isPaused: false }), 'changed', { ...target, changedMs: 9 }],
    ['gives up', of(target), giveUp(5), 'given_up', { ...paused, changedMs: 9 }],
    ['gives up what is gone', of(target), gone, 'given_up', { ...target, paused: 'gone', changedMs: 9 }],
    ['does not give up what was changed since', of(target), giveUp(4), 'outdated', target],
    ['does not give up twice', of(paused), giveUp(5), 'outdated', paused],
    ['signs with another secret', of(target), rotate, 'rotated', { ...rotated(target, 'whsec_bmV3', 9), changedMs: 9 }],
    ['has no secret for what is not signed', of(chat), rotate, 'unsigned', chat],
    ['ends one', of(target), end, 'deleted', undefined],
    ['ends none that is not there', of(), end, 'unknown_target', undefined],
    ['changes none that is not there', of(target), change({}, 'b'), 'unknown_target', undefined],
  ] as const)('%s', (_, state, command, outcome, expected) => {
    expect(after(state, command)).toEqual([outcome, expected]);
  });

  it('makes no more than there may be', () => {
    const full = of(...Array.from({ length: maxTargets }, (_, at) => ({ ...target, targetId: `t${at}` })));
    expect(after(full, create('a'))).toEqual(['too_many', undefined]);
  });

  it('gives each change a time of its own, whatever the clock says', () => {
    expect(after(of(target), change({}), 3)[1]!.changedMs).toBe(6);
  });

  it.each([
    ['nothing', create('a'), undefined],
    ['nothing', change({}), undefined],
    ['nothing', giveUp(1), undefined],
    ['nothing', gone, undefined],
    ['nothing', rotate, undefined],
    ['nothing', end, undefined],
    ['no secret', { ...rotate, secret: null } as unknown as TargetCommand, 'a command holds what it needs, and nothing else'],
    ['no attempt', { ...gone, changedMs: null } as unknown as TargetCommand, 'a command holds what it needs, and nothing else'],
    ['no target to make', { ...create('a'), target: null } as unknown as TargetCommand, 'a command holds what it needs, and nothing else'],
    ['a target to delete', { ...end, target } as unknown as TargetCommand, 'a command holds what it needs, and nothing else'],
    ['another target', { ...create('a'), targetId: 'b' }, 'the target is another one than the command names'],
    ['another organization', { ...create('a'), orgId: 'p' }, 'the target is another one than the command names'],
    [
      'a flaw of its target',
      { ...create('a'), target: { ...target, to: 'x' } } as TargetCommand,
      '/url: Use a URL of at most 2048 bytes that begins with https:// or http://.',
    ],
  ] as const)('with %s says so', (_, command, flaw) => {
    expect(flawOfTargetCommand(command)).toBe(flaw);
  });
});

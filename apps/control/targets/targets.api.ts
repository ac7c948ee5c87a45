import { z } from 'zod';
import type { Operation } from '#edge';
import { maxAttemptsKept, maxTargets } from '#model';
import { attemptJson, createdTarget, listedTarget, newTarget, targetChange, targetList } from './targets.js';

const targets = { tag: 'Alert targets', access: { may: 'targets' } } as const;
const params = z.object({ id: z.string().meta({ description: 'The `id` of the target in the list.' }) });

/** Where alerts are told. */
export const targetOperations: readonly Operation[] = [
  {
    ...targets,
    id: 'listAlertTargets',
    method: 'get',
    path: '/api/alert-targets',
    summary: 'List where the organization is told of alerts',
    answers: { 200: { description: 'The targets, oldest first.', schema: targetList } },
  },
  {
    ...targets,
    id: 'createAlertTarget',
    method: 'post',
    path: '/api/alert-targets',
    summary: 'Make a target of alerts',
    description: `Every alert that fires or resolves from now on is told there once, unless it is silenced. An organization has at most ${maxTargets} targets. Addresses that are not on the public internet are refused, unless the operator allows their network. Answers 503 when the change takes longer than 5 seconds: list the targets before you ask again.`,
    body: newTarget,
    answers: { 201: { description: 'The target.', schema: createdTarget } },
    errors: ['invalid_body', 'target_not_allowed', 'too_many_alert_targets'],
  },
  {
    ...targets,
    id: 'changeAlertTarget',
    method: 'patch',
    path: '/api/alert-targets/{id}',
    summary: 'Change, pause or resume a target of alerts',
    description: 'What the body leaves out stays as it is.',
    params,
    body: targetChange,
    answers: { 200: { description: 'The target as it is now.', schema: listedTarget } },
    errors: ['invalid_body', 'target_not_allowed', 'unknown_alert_target'],
  },
  {
    ...targets,
    id: 'deleteAlertTarget',
    method: 'delete',
    path: '/api/alert-targets/{id}',
    summary: 'Delete a target of alerts',
    params,
    answers: { 204: { description: 'Nothing is told there any more, and its attempts are forgotten.' } },
    errors: ['unknown_alert_target'],
  },
  {
    ...targets,
    id: 'rotateAlertTargetSecret',
    method: 'post',
    path: '/api/alert-targets/{id}/rotate-secret',
    summary: 'Sign a webhook with another secret',
    description:
      'For 24 hours each request has two signatures, one of the secret before and one of the new one, so that the receiver can change over at any time; then only one. Asked again within that time, the new secret is replaced, and the one before signs on: for whoever has lost the new one.',
    params,
    answers: { 200: { description: 'The target, with its new secret.', schema: createdTarget } },
    errors: ['unknown_alert_target', 'unsigned_alert_target'],
  },
  {
    ...targets,
    id: 'testAlertTarget',
    method: 'post',
    path: '/api/alert-targets/{id}/test',
    summary: 'Send a sample to a target of alerts',
    description:
      'One attempt, also to a target that is paused; once in 5 seconds for each target. Whoever asks while one is under way gets the answer of that one.',
    params,
    answers: { 200: { description: 'What became of the attempt: look at `outcome`.', schema: attemptJson } },
    errors: ['unknown_alert_target', 'over_rate'],
  },
  {
    ...targets,
    id: 'listDeliveries',
    method: 'get',
    path: '/api/deliveries',
    summary: 'List attempts to tell targets of alerts',
    answers: { 200: { description: `The last ${maxAttemptsKept} attempts of each target, newest first.`, schema: z.array(attemptJson) } },
  },
];

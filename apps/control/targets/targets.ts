import { z } from 'zod';
import {
  attemptOutcomes,
  maxTargetNameChars,
  maxTargets,
  maxTargetUrlBytes,
  pauseReasons,
  severities,
  shownTo,
  targetKinds,
  type AlertTarget,
  type Attempt,
} from '#model';

const kind = z.enum(targetKinds).meta({
  description:
    '`slack` is for everything that takes what Slack takes, such as Mattermost. `webhook` is for programs: it gets the alert as JSON, signed as Standard Webhooks say. `email` needs a mail server, which the operator configures.',
});
const name = z
  .string()
  .max(maxTargetNameChars)
  .meta({ description: 'For people.', examples: ['on call'] });
const url = z
  .string()
  .max(maxTargetUrlBytes)
  .meta({ description: 'Where requests go; of every kind but `email`.', examples: ['https://example.com/alerts'] });
const email = z
  .string()
  .max(254)
  .meta({ description: 'The address, of kind `email`.', examples: ['ops@example.com'] });
const minSeverity = z.enum(severities).meta({ description: 'Alerts that matter less are not told.' });

/** The body that asks for a target. */
export const newTarget = z
  .object({ kind, name: name.default(''), url: url.optional(), email: email.optional(), min_severity: minSeverity.default('info') })
  .meta({ id: 'NewAlertTarget' });

/** The body that changes one. */
export const targetChange = z
  .object({
    name: name.optional(),
    url: url.optional(),
    email: email.optional(),
    min_severity: minSeverity.optional(),
    paused: z.boolean().optional().meta({ description: 'Whether nothing is told. What happens meanwhile is never told.' }),
  })
  .meta({ id: 'AlertTargetChange' });

/** A target as it is listed: never its secret, nor all of its URL, which may be as good as one. */
export const listedTarget = z
  .object({
    id: z.string().meta({ examples: ['target_5f2a9c01b7d34e68a0c1f2e3'] }),
    kind,
    name: z.string(),
    to: z.string().meta({ description: 'The address, or the beginning and the end of the URL.', examples: ['https://example.com/…erts'] }),
    min_severity: minSeverity,
    paused: z.enum(pauseReasons).nullable().meta({
      description:
        '`asked`: somebody has paused it. `failing`: every attempt of a day has failed. `gone`: it has answered 410 Gone. null: alerts are told.',
    }),
    created_ms: z.int().meta({ description: 'Unix milliseconds.' }),
    former_secret_until_ms: z.int().nullable().meta({
      description: 'Until when requests are signed with the secret before too, Unix milliseconds; null where there was none.',
    }),
  })
  .meta({ id: 'AlertTarget' });

export const targetList = z.array(listedTarget).max(maxTargets);

/** The answer to a new target, and to another secret. */
export const createdTarget = listedTarget
  .extend({
    secret: z.string().nullable().meta({
      description: 'Of kind `webhook`: what its requests are signed with, `whsec_…`. It is shown here and never again: store it now.',
    }),
  })
  .meta({ id: 'CreatedAlertTarget' });

/** One attempt to deliver. */
export const attemptJson = z
  .object({
    delivery_id: z.string().meta({ description: 'The `webhook-id` of its requests: the same at every attempt.' }),
    target_id: z.string(),
    at_ms: z.int().meta({ description: 'When it ended, Unix milliseconds.' }),
    took_ms: z.int(),
    transitions: z.int().meta({ description: 'How many transitions of alerts it told.' }),
    test: z.boolean(),
    outcome: z.enum(attemptOutcomes).meta({
      description:
        '`failed`: it is tried again, unless it is a test. After the next three it is not, and these transitions are not told. `refused`: the target does not want this delivery, and would answer the next attempt in the same way. `blocked`: its address is not on the public internet, nor in a network that the operator allows, so nothing was sent. `given_up`: every attempt of a day has failed, and the target is paused. `gone`: it has answered 410, and is paused.',
    }),
    status: z.int().nullable().meta({ description: 'What the target answered; null where it did not.' }),
    error: z.string().meta({ description: 'What was wrong; empty when nothing was.' }),
    again_ms: z.int().nullable().meta({ description: 'When it is tried again, Unix milliseconds; null when it is not.' }),
  })
  .meta({ id: 'DeliveryAttempt' });

export function toListedTarget(target: AlertTarget): z.output<typeof listedTarget> {
  const { targetId: id, kind: its, name: called, minSeverity: min_severity, paused, createdMs: created_ms, formerSecret } = target;
  const former_secret_until_ms = formerSecret?.untilMs ?? null;
  return { id, kind: its, name: called, to: shownTo(target), min_severity, paused, created_ms, former_secret_until_ms };
}

/** With its secret. */
export const toCreatedTarget = (target: AlertTarget): z.output<typeof createdTarget> => ({
  ...toListedTarget(target),
  secret: target.secret || null,
});

export function toAttemptJson(target_id: string, attempt: Attempt): z.output<typeof attemptJson> {
  const { deliveryId: delivery_id, atMs: at_ms, tookMs: took_ms, transitions, isTest: test, outcome, status, error, againMs } = attempt;
  return { delivery_id, target_id, at_ms, took_ms, transitions, test, outcome, status, error, again_ms: againMs };
}

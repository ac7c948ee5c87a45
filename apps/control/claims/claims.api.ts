import { z } from 'zod';
import type { Operation } from '#edge';
import { approval, newClaim, polledClaim, shownClaim, startedClaim } from './claim-bodies.js';

const tag = 'Claiming a key';
const anybody = { tag, access: { key: false, cors: false } } as const;
const person = { tag, access: { key: false, person: true, cors: false } } as const;
const params = z.object({
  user_code: z.string().meta({ description: 'As the asker shows it, in any case, with or without its hyphen.', examples: ['BCDF-GHJK'] }),
});
const wrong = ['unknown_claim', 'too_many_wrong_codes'] as const;

/** Keys that a person approves in a browser. */
export const claimOperations: readonly Operation[] = [
  {
    ...anybody,
    id: 'startClaim',
    method: 'post',
    path: '/api/auth/claim',
    summary: 'Ask for a key that a person approves',
    description:
      'Show the code and the address to the person, and poll until the person has approved. A claim is over after 15 minutes. At most 10 of one address are open, and 5,000 are known in all.',
    body: newClaim,
    answers: { 201: { description: 'The claim has begun.', schema: startedClaim } },
    errors: ['invalid_body', 'too_many_claims', 'log_unavailable'],
  },
  {
    ...anybody,
    id: 'pollClaim',
    method: 'get',
    path: '/api/auth/claim/{device_code}',
    summary: 'Ask what has become of a claim',
    description:
      'The first poll after the approval gets the key, and no other ever does: where that answer is lost, start another claim. Who polls faster than every 5 seconds is told 429. A claim that is over is known for 15 minutes more.',
    params: z.object({ device_code: z.string().meta({ description: 'The `device_code` of the claim.' }) }),
    answers: { 200: { description: 'How the claim stands.', schema: polledClaim } },
    errors: ['unknown_claim', 'over_rate', 'too_many_keys', 'log_unavailable'],
  },
  {
    ...person,
    id: 'showClaim',
    method: 'get',
    path: '/api/auth/claims/{user_code}',
    summary: 'Who asks with this code',
    description: 'After 5 wrong codes of one account in 15 minutes, or 10 from one address in a minute, the answer is 429.',
    params,
    answers: { 200: { description: 'The claim.', schema: shownClaim } },
    errors: [...wrong, 'log_unavailable'],
  },
  {
    ...person,
    id: 'approveClaim',
    method: 'post',
    path: '/api/auth/claims/{user_code}/approve',
    summary: 'Approve a claim',
    description:
      'Whoever waits with this code gets a key of the organization that `x-organization-id` names, or of the only one that the person has.',
    params,
    body: approval,
    answers: { 204: { description: 'The claim is approved.' } },
    errors: [...wrong, 'no_organization', 'missing_role', 'invalid_body', 'log_unavailable'],
  },
  {
    ...person,
    id: 'denyClaim',
    method: 'post',
    path: '/api/auth/claims/{user_code}/deny',
    summary: 'Deny a claim',
    description:
      'The audit log of the organization tells of it: of the only one that the person has, or of that which `x-organization-id` names.',
    params,
    answers: { 204: { description: 'The claim is denied.' } },
    errors: [...wrong, 'log_unavailable'],
  },
];

import { z } from 'zod';
import { allSources, claimLifetimeMs, claimPollMs, claimScopes, maxBoundSources } from '#model';
import { keyName, sourcePatterns } from '../keys.js';
import type { PolledClaim, ShownClaim, StartedClaim } from './claims.js';

const scopes = z
  .array(z.enum(claimScopes))
  .min(1)
  .transform((its) => [...new Set(its)])
  .meta({ examples: [['write']] });
const sources = sourcePatterns.min(1).max(maxBoundSources);
const status = z.enum(['pending', 'approved', 'denied', 'expired']);

/** The body that starts a claim. */
export const newClaim = z
  .object({
    name: keyName.meta({
      description: 'Who asks, so that the person who approves knows it, and the name of the key. 1 to 100 characters.',
    }),
    scopes: scopes.default(['write']),
    sources: sources.default([...allSources]),
  })
  .meta({ id: 'NewClaim' });

export const startedClaim = z
  .object({
    device_code: z.string().meta({ description: 'What to poll with: keep it to yourself.' }),
    user_code: z.string().meta({ description: 'What to show to the person, who compares or types it.', examples: ['BCDF-GHJK'] }),
    verification_url: z.string().meta({ description: 'Where the person approves.' }),
    expires_in: z.int().meta({ description: 'Seconds after which the claim is over.', examples: [claimLifetimeMs / 1000] }),
    interval: z.int().meta({ description: 'Seconds between two polls, at least.', examples: [claimPollMs / 1000] }),
  })
  .meta({ id: 'StartedClaim' });

export const polledClaim = z
  .object({
    status,
    interval: z.int().optional().meta({ description: 'Seconds to the next poll, while the claim is pending.' }),
    api_key: z.string().optional().meta({ description: 'The key, on the first poll after the approval only: store it now.' }),
    org_id: z.string().optional().meta({ description: 'The organization of the key, once the claim is approved.' }),
  })
  .meta({ id: 'PolledClaim' });

/** A claim as the person sees it who has its code. */
export const shownClaim = z
  .object({
    user_code: z.string(),
    status,
    name: z.string().meta({ description: 'What the asker calls itself: anybody may call itself anything.' }),
    address: z.string().meta({ description: 'Where it asks from.' }),
    scopes: z.array(z.enum(claimScopes)),
    sources: sourcePatterns,
    started_ms: z.int().meta({ description: 'Unix milliseconds.' }),
    expires_ms: z.int().meta({ description: 'Unix milliseconds.' }),
  })
  .meta({ id: 'Claim' });

/** The body that approves a claim: what it leaves out is as it was asked for. */
export const approval = z.object({ scopes: scopes.optional(), sources: sources.optional() }).meta({ id: 'ClaimApproval' });

export const toStarted = ({ deviceCode, userCode, verificationUrl }: StartedClaim): z.output<typeof startedClaim> => ({
  device_code: deviceCode,
  user_code: userCode,
  verification_url: verificationUrl,
  expires_in: claimLifetimeMs / 1000,
  interval: claimPollMs / 1000,
});

export function toPolled(claim: PolledClaim): z.output<typeof polledClaim> {
  const { status: its } = claim;
  if (its === 'pending') return { status: its, interval: claimPollMs / 1000 };
  if (its !== 'approved') return { status: its };
  return { status: its, ...(claim.apiKey !== undefined && { api_key: claim.apiKey }), org_id: claim.orgId };
}

export const toShown = (claim: ShownClaim): z.output<typeof shownClaim> => ({
  user_code: claim.userCode,
  status: claim.status === 'delivered' ? 'approved' : claim.status,
  name: claim.name,
  address: claim.address,
  scopes: [...claim.scopes],
  sources: [...claim.sources],
  started_ms: claim.startedMs,
  expires_ms: claim.expiresMs,
});

import { maxBoundSources } from './bound-sources.js';
import { claimScopes, isForgottenClaim, isOpenClaim, type Claim, type ClaimedKey } from './claim.js';
import type { Decider } from './decider.js';
import { networkOf } from './network.js';
import type { Asked } from './once.js';

/** Claims of one address that are open. */
export const maxClaimsOfAddress = 10;
/** Claims that are known, of everybody: so many are in the memory of each process that answers for them. */
export const maxClaims = 5_000;

/** What an asker brings to a claim. */
export type NewClaim = Pick<Claim, 'userCode' | 'name' | 'address'> & ClaimedKey;

/** What an approval gives, in place of what was asked for. */
export interface Grant extends ClaimedKey {
  /** The organization of the key. */
  readonly orgId: string;
}

/**
 * Asks for something about one claim. An approval is about the organization that it grants a key of, a denial about that of who denies, where
 * that is one; anything else is about none.
 */
export type ClaimCommand = Asked & { readonly claimId: string } & (
    | { readonly does: 'start'; readonly claim: NewClaim; readonly grant: null }
    /** Whoever asks may give keys of this organization. */
    | { readonly does: 'approve'; readonly claim: null; readonly grant: Grant }
    /** `deliver`: a poll wants to hand out the key. */
    | { readonly does: 'deny' | 'deliver'; readonly claim: null; readonly grant: null }
  );

export type ClaimRefusal =
  | 'too_many_claims'
  | 'too_many_of_address'
  | 'code_taken'
  | 'unknown_claim'
  | 'expired'
  | 'already_decided'
  | 'not_approved'
  | 'already_delivered';

/** What became of a command. */
export type ClaimOutcome = 'started' | 'approved' | 'denied' | 'delivered' | ClaimRefusal;

export type ClaimEvent =
  | { readonly did: 'started'; readonly claim: Claim; /** Ids of claims that are forgotten now. */ readonly forgotten: readonly string[] }
  | { readonly did: 'approved' | 'denied' | 'delivered'; readonly claim: Claim }
  | { readonly did: 'refused'; readonly why: ClaimRefusal };

export interface ClaimsState {
  /** By id: all that are known, those that are over too. */
  readonly claims: ReadonlyMap<string, Claim>;
}

/** What becomes of claims: a key only after an approval, for one poll only, and after 15 minutes nothing. */
export const claimDecider: Decider<ClaimsState, ClaimCommand, ClaimEvent> = {
  initial: { claims: new Map() },

  decide: (state, command, nowMs) => [command.does === 'start' ? start(state, command, nowMs) : next(state, command, nowMs)],

  evolve(state, event) {
    if (event.did === 'refused') return state;
    const claims = new Map(state.claims);
    if (event.did === 'started') for (const claimId of event.forgotten) claims.delete(claimId);
    return { claims: claims.set(event.claim.claimId, event.claim) };
  },
};

const refused = (why: ClaimRefusal): ClaimEvent => ({ did: 'refused', why });

/** How many forgotten claims one start deletes: their tombstones have to fit into its record. */
const maxForgotten = 2;

type Start = Extract<ClaimCommand, { readonly does: 'start' }>;

function start({ claims }: ClaimsState, { claimId, claim: asked }: Start, nowMs: number): ClaimEvent {
  const forgotten: string[] = [];
  const network = networkOf(asked.address);
  let ofAddress = 0;
  for (const claim of claims.values()) {
    if (isForgottenClaim(claim, nowMs)) {
      if (forgotten.length < maxForgotten) forgotten.push(claim.claimId);
    } else if (claim.userCode === asked.userCode || claim.claimId === claimId) return refused('code_taken');
    else if (isOpenClaim(claim, nowMs) && networkOf(claim.address) === network) ofAddress++;
  }
  if (ofAddress >= maxClaimsOfAddress) return refused('too_many_of_address');
  if (claims.size - forgotten.length >= maxClaims) return refused('too_many_claims');
  const claim: Claim = { ...asked, claimId, startedMs: nowMs, status: 'pending', orgId: '', decidedBy: '' };
  return { did: 'started', claim, forgotten };
}

function next({ claims }: ClaimsState, command: Exclude<ClaimCommand, Start>, nowMs: number): ClaimEvent {
  const claim = claims.get(command.claimId);
  if (!claim || isForgottenClaim(claim, nowMs)) return refused('unknown_claim');
  if (claim.status === 'delivered') return refused(command.does === 'deliver' ? 'already_delivered' : 'already_decided');
  if (!isOpenClaim(claim, nowMs)) return refused(claim.status === 'denied' ? 'already_decided' : 'expired');
  if (command.does === 'deliver')
    return claim.status === 'approved' ? { did: 'delivered', claim: { ...claim, status: 'delivered' } } : refused('not_approved');
  if (claim.status === 'approved') return refused('already_decided');
  const { id: decidedBy } = command.by;
  return command.does === 'deny'
    ? { did: 'denied', claim: { ...claim, status: 'denied', orgId: command.orgId, decidedBy } }
    : { did: 'approved', claim: { ...claim, ...command.grant, status: 'approved', decidedBy } };
}

/** What a command says that makes no sense, in words; undefined when there is nothing. */
export function flawOfClaimCommand({ does, claim, grant }: ClaimCommand): string | undefined {
  if ((does === 'start') !== (claim !== null)) return 'a command that starts a claim says what is asked for, and no other does';
  if ((does === 'approve') !== (grant !== null)) return 'a command that approves a claim says what is given, and no other does';
  const key = claim ?? grant;
  const isTooMuch = key?.scopes.some((scope) => !claimScopes.includes(scope)) || (key?.sources.length ?? 0) > maxBoundSources;
  return isTooMuch ? 'a claim asks for more than it may get' : undefined;
}

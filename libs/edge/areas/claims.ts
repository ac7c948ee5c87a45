import { entry, tombstone } from '#log';
import { claimDecider, type ClaimCommand, type ClaimEvent, type ClaimOutcome, type ClaimsState } from '#model';
import { claimCommands, claims } from '#topics';
import type { Area } from './area.js';

/** Who asks for a key, and whether somebody has approved. Whoever decides does so for an organization; nothing else is about one. */
export const claimsArea: Area<ClaimsState, ClaimCommand, ClaimEvent, ClaimOutcome> = {
  name: 'claims',
  topic: claimCommands,
  topics: [claims],
  decider: claimDecider,

  stateIn: (views) => () => ({ claims: new Map(views.open(claims).scan('')) }),

  outcomeOf: (event) => (event.did === 'refused' ? { word: event.why, about: '' } : { word: event.did, about: event.claim.claimId }),

  effectsOf(event) {
    if (event.did === 'refused') return [];
    const forgotten = event.did === 'started' ? event.forgotten : [];
    return [...forgotten.map((claimId) => tombstone(claims, claimId)), entry(claims, event.claim)];
  },

  /** The key of an approved claim has an entry of its own, when it is made. */
  auditOf(event) {
    if (event.did !== 'approved' && event.did !== 'denied') return [];
    const { claimId: about, orgId, userCode, name, address } = event.claim;
    // Whoever belongs to no organization may deny too.
    if (orgId === '') return [];
    return [{ did: `claim.${event.did}`, about, text: `${name}, which asked from ${address} with the code ${userCode}` }];
  },
};

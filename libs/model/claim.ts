import type { Scope } from './organization.js';

/** A claim that nobody has approved, or whose key was not fetched, after so long is over. */
export const claimLifetimeMs = 900_000;
/** After that, how a claim has ended is still told for as long again; then nobody knows of it. */
export const claimKnownMs = 2 * claimLifetimeMs;
/** Who asks for the key is to ask no oftener what has become of the claim. */
export const claimPollMs = 5_000;

/** What a key may be claimed with: never what manages keys. */
export const claimScopes = ['read', 'write'] as const satisfies readonly Scope[];
export type ClaimScope = (typeof claimScopes)[number];

/** The key that a claim asks for, and that whoever approves it may make smaller. */
export interface ClaimedKey {
  readonly scopes: readonly ClaimScope[];
  /** The sources that it is for; see `BoundSources`. */
  readonly sources: readonly string[];
}

/** `delivered`: its key was handed out, or is being made for the one poll that gets it. */
export type ClaimStatus = 'pending' | 'approved' | 'denied' | 'delivered';

/** Somebody asks for a key, and a person who can sign in has to say yes. */
export interface Claim extends ClaimedKey {
  /** Digest of the device code, which only the asker has. */
  readonly claimId: string;
  /** What the person reads and compares, as `formatUserCode` writes it. */
  readonly userCode: string;
  /** What the asker calls itself. */
  readonly name: string;
  /** Where it asked from. */
  readonly address: string;
  /** Unix milliseconds. */
  readonly startedMs: number;
  readonly status: ClaimStatus;
  /** The organization that gives the key; empty until the claim is approved. */
  readonly orgId: string;
  /** Id of the account that has approved or denied it; empty until then. */
  readonly decidedBy: string;
}

export const claimEndMs = ({ startedMs }: Pick<Claim, 'startedMs'>): number => startedMs + claimLifetimeMs;

/** Whether something can still become of a claim. */
export const isOpenClaim = (claim: Claim, nowMs: number): boolean =>
  (claim.status === 'pending' || claim.status === 'approved') && nowMs < claimEndMs(claim);

/** Whether nobody is to know any more that there was this claim. */
export const isForgottenClaim = ({ startedMs }: Claim, nowMs: number): boolean => nowMs >= startedMs + claimKnownMs;

/** How a claim stands: an open one expires by time alone, whoever looks. */
export const claimStatusAt = (claim: Claim, nowMs: number): ClaimStatus | 'expired' =>
  claim.status === 'denied' || claim.status === 'delivered' || isOpenClaim(claim, nowMs) ? claim.status : 'expired';

/** Consonants: no code is a word, and none holds letters that look like digits. */
const codeLetters = 'BCDFGHJKLMNPQRSTVWXZ';
const codeLength = 8;
const codePattern = new RegExp(`^[${codeLetters}]{${codeLength}}$`);

/** Random bytes that `formatUserCode` needs: many more than it keeps, because it discards some so that all letters are equally likely. */
export const userCodeRandomBytes = 4 * codeLength;

/**
 * Eight letters for a person to compare and type, as `XXXX-XXXX`.
 *
 * @throws RangeError when `random` is too short; with `userCodeRandomBytes` good bytes that does not happen.
 */
export function formatUserCode(random: Uint8Array): string {
  const unbiased = [...random].filter((byte) => byte < 12 * codeLetters.length).slice(0, codeLength);
  if (unbiased.length < codeLength) throw new RangeError(`${random.length} random bytes are too few for a code`);
  return withHyphen(unbiased.map((byte) => codeLetters[byte % codeLetters.length]).join(''));
}

/** A code as `formatUserCode` writes it, from what a person has typed: in any case, with or without the hyphen; undefined when it is none. */
export function normalUserCode(text: string): string | undefined {
  const letters = text.replaceAll(/[\s-]/g, '').toUpperCase();
  return codePattern.test(letters) ? withHyphen(letters) : undefined;
}

const withHyphen = (letters: string): string => `${letters.slice(0, codeLength / 2)}-${letters.slice(codeLength / 2)}`;

import { hash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Accounts, claimsArea, CLOCK, type Clock, Commands, KeyCommands, PublicUrl, Readiness, Visitors } from '#edge';
import { type View, VIEWS, type Views } from '#log';
import {
  type Actor,
  type Claim,
  type ClaimedKey,
  claimEndMs,
  type ClaimOutcome,
  claimPollMs,
  claimStatusAt,
  formatUserCode,
  isForgottenClaim,
  isOpenClaim,
  maxClaims,
  maxClaimsOfAddress,
  mayAs,
  networkOf,
  type NewClaim,
  normalUserCode,
  type Person,
  TelemetryError,
  userCodeRandomBytes,
} from '#model';
import { claims } from '#topics';
import { WrongCodes } from './wrong-codes.js';

/** 256 bits: nobody guesses one. */
const deviceCodeBytes = 32;
/** Of 20^8 codes two are the same so seldom that a third try is never needed. */
const maxTries = 3;
/** A claim that is over makes room after a minute at the soonest. */
const fullRetryS = 60;
const nobody: Actor = { id: '', name: '' };

export interface StartedClaim {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly verificationUrl: string;
}

/** What an asker is told. `apiKey` is there once. */
export type PolledClaim =
  | { readonly status: 'pending' | 'denied' | 'expired' }
  | { readonly status: 'approved'; readonly orgId: string; readonly apiKey?: string };

/** Who approves or denies. */
export interface Approver {
  readonly person: Person;
  /** Undefined when the connection has just been reset. */
  readonly address: string | undefined;
}

/** What is given in place of what was asked for. */
export type Given = { readonly [Part in keyof ClaimedKey]?: ClaimedKey[Part] | undefined };

/** A claim as a person sees it who has its code. */
export interface ShownClaim extends Pick<Claim, 'userCode' | 'name' | 'address' | 'startedMs' | 'scopes' | 'sources'> {
  readonly status: ReturnType<typeof claimStatusAt>;
  readonly expiresMs: number;
}

/**
 * Keys for those who cannot sign in: a device or a command asks, a person approves in a browser, and the first poll after that gets the
 * key. Any replica answers for any claim. Every method that changes something rejects as `Commands.carryOut` does.
 */
@Injectable()
export class Claims {
  readonly #claims: View<Claim>;
  readonly #pace = new PollPace();

  constructor(
    @Inject(VIEWS) views: Views,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly commands: Commands,
    private readonly keys: KeyCommands,
    private readonly accounts: Accounts,
    private readonly visitors: Visitors,
    private readonly wrongCodes: WrongCodes,
    private readonly publicUrl: PublicUrl,
    private readonly readiness: Readiness,
  ) {
    this.#claims = views.open(claims);
    readiness.need(this.#claims.ready);
  }

  /** Rejects `too_many_claims`. */
  async start(asked: Omit<NewClaim, 'userCode'>): Promise<StartedClaim> {
    this.readiness.check();
    this.#checkRoom(asked.address);
    const deviceCode = randomBytes(deviceCodeBytes).toString('base64url');
    for (let tries = 0; tries < maxTries; tries++) {
      const userCode = formatUserCode(randomBytes(userCodeRandomBytes));
      const command = { does: 'start', claimId: idOf(deviceCode), claim: { ...asked, userCode }, grant: null } as const;
      const { word } = await this.commands.carryOut(claimsArea, { orgId: '', by: nobody, ...command });
      if (word === 'started') return { deviceCode, userCode, verificationUrl: this.publicUrl.link(`/claim?code=${userCode}`) };
      if (word !== 'code_taken') throw tooMany(word);
    }
    throw new TelemetryError('internal', 'No code was free: try again.');
  }

  /** Rejects `unknown_claim`, `too_many_keys`, or `over_rate` for who does not keep to the interval. */
  async poll(deviceCode: string): Promise<PolledClaim> {
    // Claims that are not read yet would be unknown.
    this.readiness.check();
    const claimId = idOf(deviceCode);
    const claim = this.#claims.get(claimId);
    const nowMs = this.clock();
    if (!claim || isForgottenClaim(claim, nowMs)) throw unknown('The device code is not known: start another claim.');
    this.#pace.check(claimId, performance.now());
    const status = claimStatusAt(claim, nowMs);
    if (status === 'delivered') return { status: 'approved', orgId: claim.orgId };
    if (status !== 'approved') return { status };
    // Whoever may not make keys any more has not approved one.
    return this.#mayGive(claim) ? this.#deliver(claim) : { status: 'denied' };
  }

  /** The claim with this code, whatever became of it. Rejects `unknown_claim`, or `too_many_wrong_codes`. */
  async find(typed: string, { person: { accountId }, address }: Approver): Promise<ShownClaim> {
    return this.#shown(await this.#byCode(typed, accountId, address));
  }

  /**
   * Approves: the key will be of this organization, and as it was asked for where nothing else is given. Rejects `no_organization` or
   * `missing_role` for who may not make keys there, and as `find` does, also for a claim that is no longer open.
   *
   * @param orgId undefined for the only organization that the person has.
   */
  async approve(typed: string, { person, address }: Approver, orgId: string | undefined, given: Given = {}): Promise<void> {
    const { orgId: its } = this.visitors.callerOf(person, orgId, 'keys');
    const { claimId, scopes, sources } = await this.#byCode(typed, person.accountId, address);
    const grant = { orgId: its, scopes: given.scopes ?? scopes, sources: given.sources ?? sources };
    const command = { does: 'approve', claimId, claim: null, grant } as const;
    const { word } = await this.commands.carryOut(claimsArea, { orgId: its, by: actorOf(person), ...command });
    if (word !== 'approved') this.#checkSame(word, claimId, { isDenied: false, decidedBy: person.accountId, orgId: its });
  }

  /**
   * Rejects as `find` does, also for a claim that is no longer open.
   *
   * @param named the organization whose audit log tells of it; without it the only one that the person has. Where that is none, no log does.
   */
  async deny(typed: string, { person, address }: Approver, named?: string): Promise<void> {
    const { claimId } = await this.#byCode(typed, person.accountId, address);
    const theirs = this.accounts.membershipsOf(person.accountId);
    const its = theirs.length === 1 ? theirs[0] : theirs.find((one) => one.orgId === named);
    const orgId = its?.orgId ?? '';
    const command = { does: 'deny', claimId, claim: null, grant: null } as const;
    const { word } = await this.commands.carryOut(claimsArea, { orgId, by: actorOf(person), ...command });
    if (word !== 'denied') this.#checkSame(word, claimId, { isDenied: true, decidedBy: person.accountId, orgId });
  }

  /** Hands out the key. Only one poll is let through, and only then is the key made: where that fails nobody ever gets it. */
  async #deliver({ claimId, orgId, name, scopes, sources, decidedBy }: Claim): Promise<PolledClaim> {
    const command = { does: 'deliver', claimId, claim: null, grant: null } as const;
    const { word } = await this.commands.carryOut(claimsArea, { orgId: '', by: nobody, ...command });
    if (word === 'expired') return { status: 'expired' };
    if (word !== 'delivered') return { status: 'approved', orgId };
    const by = { id: decidedBy, name: this.accounts.get(decidedBy)?.email ?? '' };
    const { secret } = await this.keys.create(orgId, { name, scopes, sources }, by);
    return { status: 'approved', orgId, apiKey: secret };
  }

  #mayGive({ orgId, decidedBy }: Claim): boolean {
    const membership = this.accounts.membership(orgId, decidedBy);
    return membership !== undefined && mayAs(membership.role, 'keys');
  }

  /** Refuse early, so that a refused request writes nothing to the log; the decider checks again. */
  #checkRoom(address: string): void {
    const known = this.#known();
    if (known.length >= maxClaims) throw tooMany('too_many_claims');
    const [network, nowMs] = [networkOf(address), this.clock()];
    const open = known.filter((claim) => isOpenClaim(claim, nowMs) && networkOf(claim.address) === network).length;
    if (open >= maxClaimsOfAddress) throw tooMany('too_many_of_address');
  }

  /** Another replica may have started it a moment ago: before a code is wrong, all that was started is known. */
  async #byCode(typed: string, accountId: string, address: string | undefined): Promise<Claim> {
    this.wrongCodes.check(accountId, address);
    const code = normalUserCode(typed);
    const find = (): Claim | undefined => this.#known().find(({ userCode }) => userCode === code);
    const known = find();
    if (known) return known;
    // Counted before the wait for the log, so that many codes sent at the same time cannot pass the limit together.
    const takeBack = this.wrongCodes.add(accountId, address);
    try {
      if (code !== undefined) await this.#claims.caughtUp();
    } catch (cause) {
      takeBack();
      throw cause;
    }
    const claim = find();
    if (!claim) throw unknown('Nobody waits for this code: compare it with the one that the device or the command shows.');
    takeBack();
    return claim;
  }

  #known(): Claim[] {
    const nowMs = this.clock();
    return Array.from(this.#claims.scan(''), ([, claim]) => claim).filter((claim) => !isForgottenClaim(claim, nowMs));
  }

  /** A form that is sent twice is no error. */
  #checkSame(word: ClaimOutcome, claimId: string, its: Pick<Claim, 'decidedBy' | 'orgId'> & { readonly isDenied: boolean }): void {
    const { status, decidedBy, orgId } = this.#claims.get(claimId) ?? {};
    const isSame = (status === 'denied') === its.isDenied && decidedBy === its.decidedBy && orgId === its.orgId;
    if (word === 'already_decided' && isSame) return;
    const how = word === 'expired' ? 'has expired' : 'was approved or denied before';
    throw unknown(`This code ${how}: the device or the command has to ask for another one.`);
  }

  #shown(claim: Claim): ShownClaim {
    const { userCode, name, address, startedMs, scopes, sources } = claim;
    const status = claimStatusAt(claim, this.clock());
    return { userCode, name, address, startedMs, scopes, sources, status, expiresMs: claimEndMs(claim) };
  }
}

const idOf = (deviceCode: string): string => hash('sha256', deviceCode, 'hex');
const actorOf = ({ accountId: id, email: name }: Person): Actor => ({ id, name });
const unknown = (detail: string): TelemetryError => new TelemetryError('unknown_claim', detail);

function tooMany(word: ClaimOutcome): TelemetryError {
  const detail =
    word === 'too_many_of_address'
      ? `${maxClaimsOfAddress} claims of this address are open: approve or deny one, or wait until one expires.`
      : 'Too many claims are open: try again later.';
  return new TelemetryError('too_many_claims', detail, { retryAfterS: fullRetryS });
}

/** A poll that comes this much early is let through: clocks and networks are not exact. */
const earlyMs = 500;

/** Keeps those who poll a claim to their interval, each replica for itself. */
class PollPace {
  /** By claim; the one that was polled longest ago stands first. */
  readonly #polledMs = new Map<string, number>();

  /** @param nowMs by a monotonic clock. @throws TelemetryError `over_rate`. */
  check(claimId: string, nowMs: number): void {
    const waitMs = (this.#polledMs.get(claimId) ?? -Infinity) + claimPollMs - nowMs;
    if (waitMs > earlyMs) {
      const retryAfterS = Math.ceil(waitMs / 1000);
      throw new TelemetryError('over_rate', `Poll every ${claimPollMs / 1000} seconds: go on in ${retryAfterS} seconds.`, { retryAfterS });
    }
    this.#polledMs.delete(claimId);
    this.#polledMs.set(claimId, nowMs);
    if (this.#polledMs.size > maxClaims) this.#polledMs.delete(this.#polledMs.keys().next().value!);
  }
}

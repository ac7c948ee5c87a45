import { Inject, Injectable, Logger } from '@nestjs/common';
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { entry, Grouped, RECORD_LOG, tombstone, VIEWS, type Entry, type RecordLog, type View, type Views } from '#log';
import {
  causes,
  lastUseMs,
  maxCommandMs,
  maxSessions,
  sessionMs,
  sessionUseMs,
  TelemetryError,
  type Account,
  type Person,
  type Session,
  type SessionUse,
} from '#model';
import { sessions, sessionUses } from '#topics';
import { CLOCK, type Clock } from '../clock.js';
import { isStale } from '../organizations.js';
import { Accounts } from './accounts.js';

const logger = new Logger('Sessions');

const tokenBytes = 32;
const tokenPattern = /^[\w-]{43}$/;
const maxAgentChars = 200;
/** Of the longest address, one of IPv6 with a zone. */
const maxAddressChars = 64;

/** Where somebody comes from. */
export interface Origin {
  /** Undefined when the connection has just been reset. */
  readonly address: string | undefined;
  /** The User-Agent header. */
  readonly agent?: string | undefined;
}

export interface ListedSession extends Session {
  readonly usedMs: number;
  /** Where it was used last. */
  readonly usedFrom: string;
}

/** Who has signed in, as the log tells it. Sessions need no decider: ids are unique, and an ended session is never written again. */
@Injectable()
export class Sessions {
  readonly #sessions: View<Session>;
  readonly #uses: View<SessionUse>;
  /** Made at the first question: the view is ready then. */
  #byAccount: Grouped<Session> | undefined;
  /** Sessions whose use is being written. */
  readonly #writing = new Set<string>();

  constructor(
    @Inject(VIEWS) views: Views,
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly accounts: Accounts,
  ) {
    this.#sessions = views.open(sessions);
    this.#uses = views.open(sessionUses);
  }

  /** Resolves when all sessions are known. */
  get ready(): Promise<unknown> {
    return Promise.all([this.#sessions.ready, this.#uses.ready, this.accounts.ready]);
  }

  /** Whose session a token is; undefined when it is malformed, unknown, ended or over. @throws TelemetryError when the log has been silent too long. */
  personOf(token: string | undefined): Person | undefined {
    const session = this.#find(token);
    const account = session && this.accounts.get(session.accountId);
    if (!account || !this.#isValid(session, account)) return undefined;
    if (isStale(this.#sessions)) throw new TelemetryError('log_unavailable', 'The server cannot tell now who has signed in.');
    return { accountId: account.accountId, email: account.email, sessionId: session.sessionId };
  }

  /** Whether somebody who was let in by a session still would be, as far as the log has told. */
  holds({ accountId, sessionId }: Person): boolean {
    const [session, account] = [this.#sessions.get(sessionId), this.accounts.get(accountId)];
    return session !== undefined && account !== undefined && this.#isValid(session, account);
  }

  /**
   * Signs somebody in; the token works here at once, and in other processes as soon as they have read it. Ends the session of `before`,
   * which the browser forgets, those that are over, and beyond `maxSessions` those that were used longest ago.
   */
  async begin(account: Account, { address = '', agent = '' }: Origin, before?: Person): Promise<string> {
    const token = randomBytes(tokenBytes).toString('base64url');
    const sha256 = sha256Of(token);
    const { accountId } = account;
    const made: Session = {
      sessionId: idOf(sha256),
      accountId,
      sha256,
      credential: credentialOf(account),
      createdMs: this.clock(),
      address: address.slice(0, maxAddressChars),
      agent: agent.slice(0, maxAgentChars).toWellFormed(),
    };
    const all = Array.from(this.#of(accountId)).toSorted((a, b) => this.#lastUseMs(b) - this.#lastUseMs(a));
    const kept = all
      .filter((session) => this.#isValid(session, account) && session.sessionId !== before?.sessionId)
      .slice(0, maxSessions - 1);
    const ended = all.filter((session) => !kept.includes(session)).map(({ sessionId }) => sessionId);
    if (before && before.accountId !== accountId) ended.push(before.sessionId);
    await this.log.append([entry(sessions, made), ...ended.flatMap(endOf)]);
    await this.#sessions.until(made.sessionId, (session) => session !== undefined, maxCommandMs);
    return token;
  }

  /** Ends a session, here at once; false when the account has no such session. */
  async end(accountId: string, sessionId: string): Promise<boolean> {
    if (this.#sessions.get(sessionId)?.accountId !== accountId) return false;
    await this.log.append(endOf(sessionId));
    await this.#sessions.until(sessionId, (session) => session === undefined, maxCommandMs);
    return true;
  }

  /** The sessions of an account that work, the one that was used last first. */
  list(accountId: string): readonly ListedSession[] {
    const account = this.accounts.get(accountId);
    return Array.from(this.#of(accountId))
      .filter((session) => account && this.#isValid(session, account))
      .map((session) => {
        const use = this.#uses.get(session.sessionId);
        return { ...session, usedMs: lastUseMs(session, use), usedFrom: use?.address ?? session.address };
      })
      .toSorted((a, b) => b.usedMs - a.usedMs || (a.sessionId < b.sessionId ? -1 : 1));
  }

  /** The session that a token is of, or was, where it is one of this account: whoever brings it is no stranger. */
  idOf(token: string | undefined, accountId: string): string | undefined {
    const session = this.#find(token);
    return session?.accountId === accountId ? session.sessionId : undefined;
  }

  /** Writes, at most once a day, that a session was used, so that it lasts. True when that is under way and the browser should keep its cookie for longer. */
  note({ sessionId }: Person, { address = '' }: Origin): boolean {
    const session = this.#sessions.get(sessionId);
    if (!session || this.#writing.has(sessionId) || this.clock() - this.#lastUseMs(session) < sessionUseMs) return false;
    this.#writing.add(sessionId);
    const use: SessionUse = { sessionId, usedMs: this.clock(), address: address.slice(0, maxAddressChars) };
    this.log
      .append([entry(sessionUses, use)])
      .then(() => this.#uses.until(sessionId, (shown) => shown !== undefined && shown.usedMs >= use.usedMs, maxCommandMs))
      .catch((error: unknown) => logger.warn(`that a session was used is not written: ${causes(error)}`))
      .finally(() => this.#writing.delete(sessionId));
    return true;
  }

  #find(token: string | undefined): Session | undefined {
    if (token === undefined || !tokenPattern.test(token)) return undefined;
    const sha256 = sha256Of(token);
    const session = this.#sessions.get(idOf(sha256));
    return session && timingSafeEqual(Buffer.from(sha256), Buffer.from(session.sha256)) ? session : undefined;
  }

  #of(accountId: string): Iterable<Session> {
    this.#byAccount ??= new Grouped(this.#sessions, (session) => session.accountId);
    return this.#byAccount.of(accountId);
  }

  #isValid(session: Session, account: Account): boolean {
    return session.credential === credentialOf(account) && this.clock() < this.#lastUseMs(session) + sessionMs;
  }

  #lastUseMs(session: Session): number {
    return lastUseMs(session, this.#uses.get(session.sessionId));
  }
}

const endOf = (sessionId: string): readonly Entry[] => [tombstone(sessions, sessionId), tombstone(sessionUses, sessionId)];
const sha256Of = (text: string): string => hash('sha256', text, 'hex');
const idOf = (sha256: string): string => `ses_${sha256.slice(0, 24)}`;
/** Says which password an account has, without a word about it. */
const credentialOf = ({ passwordDigest }: Account): string => sha256Of(passwordDigest).slice(0, 16);

import type { Position } from '#log';
import type { TelemetryError } from '#model';
import type { Extents } from '../asker.js';
import { Bell } from '../bell.js';
import type { KafkaAddress } from '../client.js';
import { failing, logUnavailable, untilDone, type Failure } from '../trouble.js';
import { Assignment, givenAway, type AssignmentOptions } from './assignment.js';
import { MemberLease } from './member-lease.js';
import { rebalanceMsOf, Session } from './session.js';

export interface MemberOptions extends AssignmentOptions {
  readonly address: KafkaAddress;
  /** As Kafka calls it. */
  readonly group: string;
  /** How long the group waits for a member that it does not hear. */
  readonly sessionMs: number;
  /** How often it looks whether it is to send a heartbeat. */
  readonly lookMs?: number | undefined;
}

/**
 * One member of a consumer group. It goes on telling the group that it is alive, however slow the receiver is. When the group gives partitions
 * anew, or was not heard for too long, the assignment ends and the member joins again.
 */
export class Member {
  readonly #names: readonly string[];
  #session: Session | undefined;
  #assignment: Assignment | undefined;
  #lostMs = 0;
  #failure: Failure | undefined;
  #joining: Promise<void> | undefined;
  #watch: NodeJS.Timeout | undefined;
  readonly #stopping = new AbortController();
  readonly #joined = Promise.withResolvers<void>();
  readonly #progress = new Bell();

  constructor(private readonly options: MemberOptions) {
    this.#names = [...options.topics.keys()];
  }

  /** Resolves when the group has given it partitions to read, or none. Rejects `log_unavailable` when it is stopped before. */
  async join(): Promise<void> {
    this.#watch = setInterval(() => this.#check(), this.options.sessionMs / 10).unref();
    this.#begin();
    await this.#joined.promise;
  }

  /** Why the group cannot be joined or read, or a partition of it waits for a schema; undefined when it can. */
  get failure(): Failure | undefined {
    return this.#stopping.signal.aborted ? undefined : (this.#failure ?? this.#assignment?.failure);
  }

  /** Resolves when everything before these ends has been taken, in the partitions that the member has then. Rejects when it is stopped. */
  async reached(ends: Extents): Promise<void> {
    const isDone = (): boolean => this.#assignment?.hasReached(ends) ?? false;
    while (!isDone()) {
      if (this.#stopping.signal.aborted) throw notRead();
      await this.#progress.next();
    }
  }

  /** Commits offsets of what the current assignment has given out; none goes back. Rejects `log_unavailable` when the group refuses. */
  async commit(positions: readonly Position[]): Promise<void> {
    if (!this.#assignment) throw givenAway();
    await this.#assignment.commit(positions);
  }

  /** Resolves when the receiver has done; it gets nothing afterwards. Commits nothing. */
  async stop(): Promise<void> {
    this.#stop();
    await this.#assignment?.finish();
    await this.crash();
  }

  /** As `stop`, without waiting for the receiver. Resolves when the group knows, or cannot be told. */
  async crash(): Promise<void> {
    this.#stop();
    this.#assignment?.end();
    const session = this.#session;
    this.#session = undefined;
    await this.#leave(session);
    await this.#joining;
  }

  async #leave(session: Session | undefined): Promise<void> {
    if (!session) return;
    await this.#assignment?.lease.quiet();
    await session.leave();
  }

  #stop(): void {
    this.#stopping.abort();
    clearInterval(this.#watch);
    this.#joined.reject(notRead());
    // Callers of `join` get the rejection; without one it would be unhandled.
    this.#joined.promise.catch(() => undefined);
    this.#progress.ring();
  }

  /** Begins anew when the lease has run out, or when a rebalance does not come to its end. */
  #check(): void {
    const assignment = this.#assignment;
    if (!assignment || this.#joining) return;
    if (assignment.lease.held()) return assignment.commitMarks();
    const { sessionMs } = this.options;
    if (assignment.ended.aborted && performance.now() - this.#lostMs < rebalanceMsOf(sessionMs) + sessionMs) return;
    this.#begin();
  }

  #begin(): void {
    if (this.#joining || this.#stopping.signal.aborted) return;
    this.#end();
    const old = this.#session;
    this.#session = undefined;
    this.#joining = this.#leave(old)
      .then(() => untilDone(this.#stopping.signal, () => this.#run()))
      .finally(() => (this.#joining = undefined));
  }

  async #run(): Promise<void> {
    const { address, group, sessionMs, lookMs } = this.options;
    const session: Session = new Session(
      { address, group, topics: this.#names, sessionMs, lookMs },
      {
        given: (partitions) => this.#assign(session, partitions),
        losing: () => this.#end(session),
        joining: () => this.#mayJoin(session),
        heard: () => this.#heard(session),
        crashed: (error) => this.#crashed(session, error),
      },
    );
    try {
      await session.connect();
      this.#stopping.signal.throwIfAborted();
      this.#session = session;
      await session.run();
    } catch (cause) {
      this.#failure = failing(cause, this.#failure);
      await session.leave();
      throw cause;
    }
  }

  /** Ignores sessions that were abandoned or never connected. */
  #crashed(session: Session, error: Error): void {
    if (session !== this.#session) return;
    this.#failure = failing(error, this.#failure);
    this.#end(session);
    this.#begin();
  }

  #heard(session: Session): void {
    const assignment = this.#assignment;
    if (session !== this.#session || !assignment) return;
    // kafkajs joins again before it sends a heartbeat, but for a coordinator that is still loading: then it goes on as if nothing were lost.
    if (assignment.ended.aborted && session.sentMs > this.#lostMs) return this.#begin();
    assignment.lease.heard(session.sentMs);
    if (assignment.isOpen) this.#failure = undefined;
  }

  /** The partitions may be given to others from now on. */
  #end(session = this.#session): void {
    if (session !== this.#session || !this.#assignment || this.#assignment.ended.aborted) return;
    this.#lostMs = performance.now();
    this.#assignment.end();
  }

  /** Whether all is over that began while the partitions were ours: others get them as soon as this member has asked to join. */
  #mayJoin(session: Session): boolean {
    this.#end(session);
    return this.#assignment?.lease.isQuiet ?? true;
  }

  #assign(session: Session, given: Readonly<Record<string, readonly number[]>>): void {
    if (session !== this.#session || this.#stopping.signal.aborted) return;
    this.#end(session);
    const partitions = Object.entries(given).flatMap(([topic, of]) => of.map((partition) => ({ topic, partition })));
    const lease = new MemberLease(session.sentMs, this.options.sessionMs / 2);
    const before = this.#assignment?.settled() ?? Promise.resolve();
    const options: AssignmentOptions = {
      ...this.options,
      shrunk: (partition) => {
        this.options.shrunk(partition);
        this.#begin();
      },
    };
    this.#assignment = new Assignment(session, partitions, lease, before, options, () => this.#progress.ring());
    void this.#open(this.#assignment);
  }

  async #open(assignment: Assignment): Promise<void> {
    if (!(await assignment.open())) return;
    this.#joined.resolve();
    this.#progress.ring();
  }
}

const notRead = (): TelemetryError => logUnavailable('The log is not read any more.');

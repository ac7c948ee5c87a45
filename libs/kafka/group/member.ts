import type { EachBatchPayload, Offsets } from 'kafkajs';
import type { AnyTopic, Position } from '#log';
import type { TelemetryError } from '#model';
import type { AvroCodec } from '#topics';
import type { KafkaAddress } from '../client.js';
import type { Extents } from '../asker.js';
import { failing, logUnavailable, reasonOf, untilDone, type Failure } from '../trouble.js';
import type { TopicPartition } from '../topic-partition.js';
import { Assignment } from './assignment.js';
import { Lane, type Fetched, type Receiver } from '../lane.js';
import { MemberLease } from './member-lease.js';
import { rebalanceMsOf, Session } from './session.js';

export interface MemberOptions {
  readonly address: KafkaAddress;
  /** The group to join, as Kafka calls it, each time that it joins. */
  readonly group: () => string;
  /** By the name that Kafka has for them. */
  readonly topics: ReadonlyMap<string, AnyTopic>;
  readonly codec: AvroCodec;
  /** How long the group waits for a member that it does not hear. */
  readonly sessionMs: number;
  /** Offsets to begin with. A rejection is tried again. */
  readonly startsAt: (places: readonly TopicPartition[], commit: CommitStart) => Promise<(place: TopicPartition) => number>;
  /** What to do with the records of one assignment. */
  readonly receiver: (assignment: Assignment) => Receiver;
  /** A partition ends before what was read of it; the member begins anew. */
  readonly shrunk: (place: TopicPartition) => void;
}

/** Commits where partitions begin that were given a moment ago. */
export type CommitStart = (positions: readonly Position[]) => Promise<void>;

type Commit = (offsets: Offsets) => Promise<void>;

/**
 * One member of a consumer group. It fetches ahead of the receiver up to a bound and goes on telling the group that it is alive, however
 * slow the receiver is. What it holds is dropped when the group gives partitions anew or was not heard for too long; then it joins again.
 */
export class Member {
  readonly #names: readonly string[];
  #session: Session | undefined;
  #assignment: Assignment | undefined;
  /** Of the current assignment, once it has given something out. */
  #commit: Commit | undefined;
  #openedMs = 0;
  #lostMs = 0;
  #failure: Failure | undefined;
  #joining: Promise<void> | undefined;
  #watch: NodeJS.Timeout | undefined;
  readonly #stopping = new AbortController();
  readonly #joined = Promise.withResolvers<void>();
  #waiters: (() => void)[] = [];

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
    if (this.#stopping.signal.aborted) return undefined;
    const lanes = this.#assignment?.isOpen ? [...this.#assignment.lanes] : [];
    return this.#failure ?? lanes.find(({ failure }) => failure)?.failure;
  }

  /** Resolves when everything before these ends has been taken, in the partitions that the member has then. Rejects when it is stopped. */
  async reached(ends: Extents): Promise<void> {
    while (!this.#hasReached(ends)) {
      if (this.#stopping.signal.aborted) throw notRead();
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
  }

  /** Commits offsets of what the current assignment has given out; none goes back. Rejects `log_unavailable` when the group refuses. */
  async commit(positions: readonly Position[]): Promise<void> {
    const assignment = this.#assignment;
    const lanes = positions.map((position) => [position, assignment?.lane(position)] as const);
    if (!assignment?.lease.held() || lanes.some(([, lane]) => !lane)) throw givenAway();
    const ahead = lanes
      .map(([position, lane]) => [{ ...position, offset: lane!.behind(position.offset) }, lane!] as const)
      .filter(([{ offset }, lane]) => offset > lane.committed);
    if (ahead.length === 0) return;
    try {
      // kafkajs takes the generation of the group from here on, in this tick: a later one refuses the offsets.
      await this.#commit!(offsets(ahead.map(([position]) => position)));
    } catch (cause) {
      throw logUnavailable(`The group does not take offsets now: ${reasonOf(cause)}.`, cause);
    }
    for (const [{ offset }, lane] of ahead) lane.committed = Math.max(lane.committed, offset);
  }

  /** Resolves when the receiver has done; it gets nothing afterwards. Commits nothing. */
  async stop(): Promise<void> {
    this.#stop();
    if (this.#assignment?.isOpen) this.#session?.pause();
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
    // Whoever waits for it hears of it.
    this.#joined.promise.catch(() => undefined);
    this.#progress();
  }

  /** A lease that has run out, or a rebalance that does not come to its end: this member begins anew. */
  #check(): void {
    const assignment = this.#assignment;
    if (!assignment || this.#joining) return;
    if (assignment.lease.held()) return this.#commitMarks(assignment);
    const { sessionMs } = this.options;
    if (assignment.ended.aborted && performance.now() - this.#lostMs < rebalanceMsOf(sessionMs) + sessionMs) return;
    this.#begin();
  }

  /** Marks of transactions may come when the receiver has committed the last record, or without any. */
  #commitMarks(assignment: Assignment): void {
    if (!this.#commit || !assignment.isOpen) return;
    // The next check tries again.
    this.commit(assignment.places.map((place) => ({ ...place, offset: assignment.lane(place)!.committed }))).catch(() => undefined);
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
    const { address, group, sessionMs } = this.options;
    const session: Session = new Session(
      { address, group: group(), topics: this.#names, sessionMs },
      {
        given: (partitions) => this.#assign(session, partitions),
        losing: () => this.#end(session),
        joining: () => this.#mayJoin(session),
        heard: () => this.#heard(session),
        fetched: (batch) => this.#take(session, batch),
        skipped: (place, fetched, next) => this.#laneOf(session, place, fetched)?.skip(next),
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

  /** One that was left before, or has not got its connection, has nothing to say about this member. */
  #crashed(session: Session, error: Error): void {
    if (session !== this.#session) return;
    this.#failure = failing(error, this.#failure);
    this.#end(session);
    this.#begin();
  }

  #heard(session: Session): void {
    const assignment = this.#assignmentOf(session);
    if (!assignment) return;
    // kafkajs joins again before it sends a heartbeat, but for a coordinator that is still loading: then it goes on as if nothing were lost.
    if (assignment.ended.aborted && session.sentMs > this.#lostMs) return this.#begin();
    assignment.lease.heard(session.sentMs);
    // A batch that cannot be read crashes each session as soon as it is open: joining alone is no sign of health.
    if (assignment.isOpen && performance.now() - this.#openedMs > this.options.sessionMs / 10) this.#failure = undefined;
  }

  #assignmentOf(session: Session): Assignment | undefined {
    return session === this.#session ? this.#assignment : undefined;
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
    const places = Object.entries(given).flatMap(([topic, partitions]) => partitions.map((partition) => ({ topic, partition })));
    const lease = new MemberLease(session.sentMs, this.options.sessionMs / 2);
    this.#assignment = new Assignment(places, lease, this.#assignment?.settled() ?? Promise.resolve());
    this.#commit = undefined;
    session.pause();
    void this.#open(session, this.#assignment);
  }

  async #open(session: Session, assignment: Assignment): Promise<void> {
    const { places, ended } = assignment;
    await assignment.before;
    // In the same tick as the look at `ended`: later, kafkajs would commit in the name of the next assignment.
    const commit: CommitStart = async (positions) => (ended.aborted ? Promise.reject(givenAway()) : session.commit(positions));
    const startOf = await untilDone(ended, () => this.options.startsAt(places, commit));
    if (!startOf || ended.aborted) return;
    assignment.open(this.#lanes(session, assignment, startOf));
    for (const place of places) session.consumer.seek({ ...place, offset: String(startOf(place)) });
    session.resume();
    this.#openedMs = performance.now();
    this.#joined.resolve();
    this.#progress();
  }

  #lanes({ consumer }: Session, assignment: Assignment, startOf: (place: TopicPartition) => number): (place: TopicPartition) => Lane {
    const { topics, codec } = this.options;
    const receiver = this.options.receiver(assignment);
    return (place) => {
      const progress = (): void => {
        if (assignment.isOpen && lane.isPaused && lane.waitingBytes < assignment.laneBytes / 2) {
          lane.isPaused = false;
          consumer.resume([{ topic: place.topic, partitions: [place.partition] }]);
        }
        this.#progress();
      };
      const topic = topics.get(place.topic)!;
      const lane = new Lane({
        topic,
        partition: place.partition,
        from: startOf(place),
        codec,
        receiver,
        ended: assignment.ended,
        progress,
        shrunk: () => {
          this.options.shrunk(place);
          this.#begin();
        },
      });
      return lane;
    };
  }

  /** The lane of that place, if what was fetched is what it waits for; otherwise that is fetched again. */
  #laneOf(session: Session, place: TopicPartition, fetched: Fetched): Lane | undefined {
    const lane = this.#assignmentOf(session)?.lane(place);
    if (!lane || lane.accepts(fetched)) return lane;
    session.consumer.seek({ ...place, offset: String(lane.next) });
    return undefined;
  }

  #take(session: Session, payload: EachBatchPayload): void {
    const { batch } = payload;
    const { topic, partition, messages } = batch;
    const { fetchedOffset, highWatermark } = batch as typeof batch & { readonly fetchedOffset: string };
    const assignment = this.#assignmentOf(session);
    const lane = this.#laneOf(session, { topic, partition }, { from: Number(fetchedOffset), high: Number(highWatermark) });
    if (!assignment || !lane) return;
    const last = batch.lastOffset();
    payload.resolveOffset(last);
    this.#commit = (positions) => payload.commitOffsetsIfNecessary(positions);
    lane.push(messages, Number(last) + 1);
    if (lane.waitingBytes < assignment.laneBytes) return;
    lane.isPaused = true;
    payload.pause();
  }

  #hasReached(ends: Extents): boolean {
    const assignment = this.#assignment;
    if (!assignment?.isOpen) return false;
    return assignment.places.every((place) => assignment.lane(place)!.taken >= (ends.get(place.topic)?.[place.partition]?.high ?? 0));
  }

  #progress(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }
}

function offsets(positions: readonly Position[]): Offsets {
  const byTopic = Map.groupBy(positions, ({ topic }) => topic);
  return {
    topics: [...byTopic].map(([topic, of]) => ({
      topic,
      partitions: of.map(({ partition, offset }) => ({ partition, offset: String(offset) })),
    })),
  };
}

const notRead = (): TelemetryError => logUnavailable('The log is not read any more.');
const givenAway = (): TelemetryError => logUnavailable('The group has given the partitions to other members.');

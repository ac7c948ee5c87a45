import type { AnyTopic, Entry, Following, FollowOptions, RecordLog, StreamRecord, Topic } from '#log';
import { TelemetryError } from '#model';
import type { Machine, SimulatedTime } from './machines.js';
import type { Random } from '../random.js';

/** When the simulation begins by the clock of the log. */
const epochMs = 1_700_000_000_000;

/** One log for simulated machines, each of which hears of it late, and each of which may be told wrongly that its records are not in it. */
export class MachinesLog {
  readonly #records = new Map<string, StreamRecord[]>();
  /** Until then most appends are refused. */
  awayUntilMs = 0;
  readonly #followers = new Set<Follower>();

  constructor(
    readonly time: SimulatedTime,
    readonly random: Random,
  ) {}

  nowMs(): number {
    return epochMs + this.time.nowMs;
  }

  of<V>(topic: Topic<V>): StreamRecord<V>[] {
    let records = this.#records.get(topic.name);
    if (!records) this.#records.set(topic.name, (records = []));
    return records as StreamRecord<V>[];
  }

  /** The log as one machine sees it. @param patient topics of which no append is refused: it takes as long as the log is away. */
  client(machine: Machine, patient: readonly AnyTopic[]): MachineLog {
    return new MachineLog(this, machine, patient);
  }

  /** Puts records into the log now. */
  write(entries: readonly Entry[]): void {
    for (const { topic, key, value, headers = {} } of entries) {
      const records = this.of(topic);
      records.push({ topic, key, value, headers, offset: records.length, partition: 0, appendedMs: this.nowMs(), bytes: 0 });
    }
    for (const follower of this.#followers) if (entries.some(({ topic }) => topic.name === follower.topic.name)) follower.hear();
  }

  follow(follower: Follower): void {
    this.#followers.add(follower);
  }

  leave(follower: Follower): void {
    this.#followers.delete(follower);
  }
}

export class MachineLog implements Pick<RecordLog, 'append' | 'follow'> {
  /** How long after a record is in the log it comes here at most. */
  lagMs = 20;

  constructor(
    readonly log: MachinesLog,
    readonly machine: Machine,
    private readonly patient: readonly AnyTopic[],
  ) {}

  append(entries: readonly Entry[]): Promise<void> {
    const { log, machine } = this;
    const { time, random } = log;
    return new Promise((resolve, reject) => {
      if (machine.isDead) return;
      const isPatient = entries.every(({ topic }) => this.patient.includes(topic));
      const awayMs = log.awayUntilMs - time.nowMs;
      const delayMs = random.chance(0.03) ? random.whole(100, 2_000) : random.whole(0, 15);
      const isRefused = awayMs > 0 && !isPatient;
      const isWritten = !isRefused || random.chance(0.3);
      time.later(Math.max(delayMs, isPatient ? awayMs : 0), undefined, () => {
        // What a machine that has died meanwhile had begun to send may have left it, or not.
        if (isWritten && (!machine.isDead || random.chance(0.5))) log.write(entries);
        if (!isRefused) time.later(random.whole(0, 15), machine, resolve);
      });
      if (isRefused) time.later(4_000, machine, () => reject(new TelemetryError('log_unavailable', 'Away.')));
    });
  }

  follow(options: FollowOptions): Following {
    return new Follower(this, options);
  }
}

/** A reading of one topic. */
class Follower implements Following {
  readonly topic: AnyTopic;
  readonly #waiting: { readonly position: number; readonly resolve: () => void }[] = [];
  #position: number;
  #isHearing = false;

  constructor(
    private readonly client: MachineLog,
    private readonly options: FollowOptions,
  ) {
    const { log } = client;
    this.topic = options.topics[0]!;
    this.#position = options.from === 'end' ? log.of(this.topic).length : 0;
    log.follow(this);
    this.hear();
  }

  /** Takes what there is, a little later and perhaps not all at once. */
  hear(): void {
    if (this.#isHearing) return;
    this.#isHearing = true;
    const { log, machine, lagMs } = this.client;
    log.time.later(log.random.whole(0, lagMs), machine, () => {
      this.#isHearing = false;
      const records = log.of(this.topic);
      const some = records.slice(this.#position, this.#position + log.random.whole(1, 50));
      this.#position += some.length;
      if (some.length > 0) void this.options.take(some);
      const waiting = this.#waiting.splice(0);
      this.#waiting.push(...waiting.filter(({ position }) => position > this.#position));
      for (const { position, resolve } of waiting) if (position <= this.#position) resolve();
      if (this.#position < records.length) this.hear();
    });
  }

  caughtUp(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ position: this.client.log.of(this.topic).length, resolve });
      this.hear();
    });
  }

  ageMs(): number {
    return 0;
  }

  lag(): number {
    return this.client.log.of(this.topic).length - this.#position;
  }

  positions(): readonly [] {
    return [];
  }

  stop(): Promise<void> {
    this.client.log.leave(this);
    return Promise.resolve();
  }
}

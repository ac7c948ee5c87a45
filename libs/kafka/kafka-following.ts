import { LogGap, type AnyTopic, type Following, type FollowOptions, type Position } from '#log';
import { TelemetryError } from '#model';
import type { AvroCodec } from '#topics';
import type { Asker, Extent, Extents } from './asker.js';
import { Bell } from './bell.js';
import type { Fetched, Wanted } from './fetch/fetch-loop.js';
import type { Fetcher } from './fetch/fetcher.js';
import { Lane } from './fetch/lane.js';
import { OutOfRange } from './fetch/out-of-range.js';
import { Moment } from './moment.js';
import { partitionName } from './topic-partition.js';
import { settingsOf } from './topic-settings.js';
import { logUnavailable, untilDone } from './trouble.js';

export interface FollowingParts {
  readonly prefix: string;
  readonly codec: Promise<AvroCodec>;
  readonly asker: Asker;
  readonly fetcher: Fetcher;
  /** Called when nothing more is to be fetched. */
  readonly ended: (following: KafkaFollowing) => void;
}

/** After a silence of this length the broker is asked again how long it keeps tombstones: an operator may have changed that. */
const doubtMs = 30_000;

/** Partitions that are read without a group. */
export class KafkaFollowing implements Following {
  readonly #ended = new AbortController();
  readonly #began = new Moment();
  readonly #opened: Promise<void>;
  #tails: readonly Tail[] = [];
  #isOpen = false;
  readonly #progress = new Bell();
  #why: Error = logUnavailable('The log is not read any more.');

  constructor(
    private readonly parts: FollowingParts,
    private readonly options: FollowOptions,
  ) {
    this.#opened = this.#open();
    this.#opened.catch((error: Error) => this.#stop(error));
  }

  async caughtUp(): Promise<void> {
    await this.#opened;
    const ends = await this.#extents();
    const isDone = (): boolean => this.#tails.every((tail) => tail.taken >= Math.min(tail.end, endOf(ends, tail)));
    while (!isDone()) {
      if (this.#ended.signal.aborted) throw this.#why;
      await this.#progress.next();
    }
  }

  ageMs(): number {
    return this.#isOpen ? Math.max(0, ...this.#tails.map((tail) => tail.ageMs())) : this.#began.agoMs();
  }

  lag(): number {
    return this.#tails.reduce((sum, tail) => sum + tail.lag, 0);
  }

  positions(): readonly Position[] {
    return this.#tails.map((tail) => tail.position());
  }

  async stop(): Promise<void> {
    this.#end();
    await Promise.all(this.#tails.map((tail) => tail.settled()));
  }

  async #open(): Promise<void> {
    const { signal } = this.#ended;
    const codec = await this.parts.codec;
    const extents = await untilDone(signal, () => this.#extents());
    if (!extents || signal.aborted) throw this.#why;
    const { prefix, asker, fetcher } = this.parts;
    const reading: Reading = {
      prefix,
      asker,
      codec,
      options: this.options,
      began: this.#began,
      ended: signal,
      progress: (tail) => {
        if (tail.next >= tail.end) fetcher.remove([tail]);
        fetcher.taken();
        this.#progress.ring();
      },
      lost: (error) => this.#stop(error),
    };
    this.#tails = this.options.topics.flatMap((topic) => {
      const tombstones = new Tombstones(asker, prefix + topic.name);
      return this.#starts(topic, extents.get(prefix + topic.name)!).map((start) => new Tail(reading, tombstones, start));
    });
    this.#isOpen = true;
    fetcher.add(this.#tails.filter((tail) => tail.next < tail.end));
    this.#progress.ring();
  }

  #extents(): Promise<Extents> {
    return this.parts.asker.extentsOf(this.options.topics.map(({ name }) => this.parts.prefix + name));
  }

  #starts(topic: AnyTopic, extents: readonly Extent[]): readonly Start[] {
    const { from, partitions } = this.options;
    return extents.flatMap((extent, partition) => {
      const start = typeof from === 'string' ? from : from.find((it) => it.topic === topic.name && it.partition === partition)?.offset;
      if (start === undefined || (partitions && !partitions.includes(partition))) return [];
      const offset = start === 'beginning' ? extent.low : start === 'end' ? extent.high : start;
      if (offset < extent.low) throw new LogGap(`${topic.name}/${partition} begins at offset ${extent.low}, not at ${offset}`);
      return [{ topic, partition, from: offset, extent }];
    });
  }

  #stop(error: Error): void {
    if (this.#ended.signal.aborted) return;
    this.#why = error;
    this.#end();
    this.options.stopped(error);
  }

  #end(): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort();
    this.parts.fetcher.remove(this.#tails);
    this.parts.ended(this);
    this.#progress.ring();
  }
}

interface Start {
  readonly topic: AnyTopic;
  readonly partition: number;
  readonly from: number;
  readonly extent: Extent;
}

const endOf = (ends: Extents, { topic, partition }: Tail): number => ends.get(topic)?.[partition]?.high ?? 0;

/** What all tails of one following share. */
interface Reading extends Pick<FollowingParts, 'prefix' | 'asker'> {
  readonly codec: AvroCodec;
  readonly options: FollowOptions;
  readonly began: Moment;
  /** Aborted when nothing more is to be handed over. */
  readonly ended: AbortSignal;
  /** A tail has handed something over. */
  readonly progress: (tail: Tail) => void;
  /** What was missed, or why nothing more can be read. */
  readonly lost: (error: Error) => void;
}

/**
 * Kafka keeps the tombstones of a topic for `delete.retention.ms`: a reader that has not heard it for half of that may have missed some, and so may
 * one that takes as long to read it from its beginning.
 */
class Tombstones {
  #keptMs = 0;
  #asked: Moment | undefined;

  constructor(
    private readonly asker: Asker,
    private readonly topic: string,
  ) {}

  async mayBeGone(heard: Moment): Promise<boolean> {
    const silentMs = heard.agoMs();
    if (!this.#asked || (silentMs > doubtMs && this.#asked.agoMs() > doubtMs)) {
      const asked = new Moment();
      const settings = await this.asker.ask((admin) => settingsOf(admin, [this.topic]));
      this.#keptMs = Number(settings.get(this.topic)?.all.get('delete.retention.ms') ?? 0);
      this.#asked = asked;
    }
    return silentMs > this.#keptMs / 2;
  }
}

/** One partition that is read without a group. */
class Tail implements Wanted {
  readonly name: string;
  readonly topic: string;
  readonly partition: number;
  /** Offset after the last record that is wanted. */
  readonly end: number;
  readonly #lane: Lane;
  /** The last moment at which everything in the partition had been taken. */
  #heard: Moment;
  /** Becomes `#heard` once everything before the offset `high` is taken. */
  #hearing: { readonly moment: Moment; readonly high: number } | undefined;
  #high = 0;
  readonly #outOfRange: OutOfRange;

  constructor(
    private readonly reading: Reading,
    private readonly tombstones: Tombstones,
    private readonly start: Start,
  ) {
    const { prefix, codec, began, ended, options } = reading;
    const { topic, partition, from, extent } = start;
    this.topic = prefix + topic.name;
    this.partition = partition;
    this.name = partitionName(this);
    this.end = options.to === 'end' ? extent.high : Infinity;
    this.#heard = began;
    const progress = (): void => {
      this.#hear();
      reading.progress(this);
    };
    const { asBytes } = options;
    this.#lane = new Lane({ topic, partition, from, codec, asBytes, receiver: options, ended, progress });
    this.#outOfRange = new OutOfRange(() => reading.asker.extentOf(this));
  }

  get next(): number {
    return this.#lane.next;
  }

  get taken(): number {
    return this.#lane.taken;
  }

  get waitingBytes(): number {
    return this.#lane.waitingBytes;
  }

  get lag(): number {
    return Math.max(0, Math.min(this.#high, this.end) - this.taken);
  }

  position(): Position {
    return { topic: this.start.topic.name, partition: this.partition, offset: this.taken };
  }

  ageMs(): number {
    return this.taken >= this.end ? 0 : this.#heard.agoMs();
  }

  settled(): Promise<void> {
    return this.#lane.settled();
  }

  async fetched({ messages, next, low, high, asked }: Fetched): Promise<void> {
    const { topic, extent } = this.start;
    if (topic.cleanup === 'compact' && (low > extent.low || (await this.tombstones.mayBeGone(this.#heard)))) return this.#gap();
    this.#outOfRange.forget();
    this.#high = high;
    this.#hearing ??= { moment: asked, high };
    const wanted = next <= this.end ? messages : messages.filter(({ offset }) => Number(offset) < this.end);
    this.#lane.push(wanted, Math.min(next, this.end));
  }

  async outOfRange(): Promise<void> {
    const missing = await this.#outOfRange.missing(this.next);
    if (missing?.is === 'gone') this.#gap();
    if (missing?.is === 'ended')
      this.reading.lost(new TelemetryError('log_corrupt', `${this.topic}/${this.partition} ends before what was read of it.`));
  }

  #gap(): void {
    this.reading.lost(new LogGap(`records of ${this.topic}/${this.partition} may have been missed`));
  }

  #hear(): void {
    if (!this.#hearing || this.taken < Math.min(this.#hearing.high, this.end)) return;
    this.#heard = this.#hearing.moment;
    this.#hearing = undefined;
  }
}

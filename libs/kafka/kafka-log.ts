import {
  deadLettersOf,
  isDeadLetters,
  maxKnownLetters,
  ParkedLetters,
  partitionOf,
  wholeBytes,
  type AnyTopic,
  type ConsumerOptions,
  type Entry,
  type FollowOptions,
  type Headers,
  type History,
  type RecordLog,
  type Span,
  type StreamRecord,
} from '#log';
import type { AvroCodec } from '#topics';
import type { Asker } from './asker.js';
import type { KafkaAddress } from './client.js';
import { Fetcher } from './fetch/fetcher.js';
import { KafkaRecord } from './fetch/kafka-record.js';
import { SharedCodec } from './fetch/shared-codec.js';
import { GroupSubscription } from './group/group-subscription.js';
import { KafkaFollowing } from './kafka-following.js';
import { GuardedProducer } from './send/guarded-producer.js';
import { KafkaLeaders } from './send/leaders.js';
import type { Outgoing } from './send/send-place.js';
import { SendQueue } from './send/send-queue.js';
import { identityOf } from './topic-identity.js';
import { complaint, logUnavailable, within } from './trouble.js';

export interface KafkaLogOptions {
  readonly address: KafkaAddress;
  readonly topics: readonly AnyTopic[];
  /** Resolves when the topics are there and their schemas known. */
  readonly codec: Promise<AvroCodec>;
  readonly asker: Asker;
  readonly sessionMs: number;
  /** How often a member of a group looks whether it is to send a heartbeat. */
  readonly lookMs?: number | undefined;
  /** How long an append may take before it is told that the log cannot be reached. */
  readonly waitMs: number;
  /** Hears what an operator should know. */
  readonly report: (message: string) => void;
}

/** A broker takes a little more. A dead letter may be twice as large: it has more headers than its record had. */
const recordBytes = 1_000_000;
const overheadBytes = 100;
/** Looking at each letter for what other processes have parked would slow down a flood of letters. */
const lookEveryMs = 5_000;
/** Groups can wait a little for more. */
const groupRestMs = 100;
const keptKeyLength = 10_000;
const keyBuffer = Buffer.allocUnsafe(3 * 0xffff);

/** The log in Kafka. */
export class KafkaLog implements RecordLog {
  readonly queue: SendQueue;
  readonly #subscriptions = new Set<GroupSubscription>();
  readonly #followings = new Set<KafkaFollowing>();
  /** Shared by all followings without an end and without positions. */
  readonly #fetcher: Fetcher;
  /** Shared by all groups. */
  readonly #groupFetcher: Fetcher;
  readonly #parked: ParkedLetters;
  readonly #prefix: string;
  /** Until then a call waits for the opening. */
  readonly #patientUntilMs: number;
  #codec: AvroCodec | undefined;
  /** For the groups of this process, some of which read the same topics. */
  readonly #shared: Promise<SharedCodec>;

  constructor(private readonly options: KafkaLogOptions) {
    this.#prefix = options.address.prefix ?? '';
    this.#patientUntilMs = performance.now() + options.waitMs;
    this.#shared = options.codec.then((codec) => new SharedCodec(codec));
    this.#shared.catch(() => undefined);
    this.#fetcher = new Fetcher(options.address, { isLasting: true });
    this.#groupFetcher = new Fetcher(options.address, { isLasting: true, restMs: groupRestMs });
    this.#parked = new ParkedLetters(this, { topics: options.topics, spanOf: (letters) => this.#newest(letters), lookEveryMs });
    const names = options.topics.flatMap(({ name }) => [this.#prefix + name, this.#prefix + deadLettersOf(name)]);
    const leaders = new KafkaLeaders(options.asker, names);
    this.queue = new SendQueue({ newProducer: () => new GuardedProducer(options.address), leaders, waitMs: options.waitMs });
    options.codec.then(
      (codec) => (this.#codec = codec),
      () => undefined,
    );
    void options.codec.then(
      () => leaders.refresh(),
      () => undefined,
    );
  }

  async append(entries: readonly Entry[]): Promise<void> {
    if (entries.length === 0) return;
    const codec = this.#codec ?? (await this.#opened());
    await this.queue.add(
      entries.map(({ topic, key, value, headers }) =>
        this.#outgoing(topic, key, value === null ? null : codec.encode(topic, value), headers),
      ),
    );
  }

  async appendBytes(topic: string, key: string, bytes: Uint8Array, headers: Headers): Promise<void> {
    if (!this.#codec) await this.#opened();
    if (isDeadLetters(topic) && (await this.#parked.has(topic, headers))) return;
    const value = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const parked = isDeadLetters(topic) ? fitting(key, value, headers) : ([key, value, headers] as const);
    await this.queue.add([this.#outgoing({ name: topic, partitions: this.#partitionsOf(topic) }, ...parked)]);
    if (isDeadLetters(topic)) this.#parked.add(topic, headers);
  }

  encoded(record: StreamRecord): Uint8Array {
    if (record instanceof KafkaRecord) return record.encoded;
    return record.value === null ? new Uint8Array() : this.#codec!.encode(record.topic, record.value);
  }

  async consume(options: ConsumerOptions): Promise<GroupSubscription> {
    const stopped = (it: GroupSubscription): boolean => this.#subscriptions.delete(it);
    const subscription = new GroupSubscription(
      { ...this.options, codec: await this.#shared, fetcher: this.#groupFetcher, stopped },
      options,
    );
    this.#subscriptions.add(subscription);
    await subscription.join();
    return subscription;
  }

  follow(options: FollowOptions): KafkaFollowing {
    const { address, codec, asker } = this.options;
    const isShared = options.to === undefined && typeof options.from === 'string';
    const fetcher = isShared ? this.#fetcher : new Fetcher(address, { isLasting: false });
    const ended = (it: KafkaFollowing): void => {
      this.#followings.delete(it);
      if (!isShared) void fetcher.stop();
    };
    const following = new KafkaFollowing({ prefix: this.#prefix, codec, asker, fetcher, ended }, options);
    this.#followings.add(following);
    return following;
  }

  /** The same name for every offset. */
  async history(topic: AnyTopic): Promise<History> {
    const name = await this.options.asker.ask((_, kafka) => identityOf(kafka, this.#prefix + topic.name));
    return () => name;
  }

  /** Why it cannot be written or read, in words for the operator; undefined when it can. */
  health(): string | undefined {
    const reasons = [...this.#subscriptions].map((subscription) => subscription.health());
    return complaint('Kafka takes no records', this.queue.failure) ?? reasons.find((reason) => reason !== undefined);
  }

  /** Why some partitions cannot be written while others can, in words for the operator. */
  partialHealth(): string | undefined {
    return complaint('Kafka takes no records for some partitions', this.queue.partialFailure);
  }

  /** Sends what waits, as far as it can be sent, and leaves all groups. */
  async close(): Promise<void> {
    await within(this.options.waitMs, this.queue.close(stopping()));
    await Promise.all([...this.#subscriptions, ...this.#followings].map((reading) => reading.stop()));
    await Promise.all([this.#fetcher.stop(), this.#groupFetcher.stop()]);
    this.queue.crash(stopping());
  }

  /** Ends at once. The groups are told, so that no other member waits for the session to time out. */
  async crash(): Promise<void> {
    this.queue.crash(stopping());
    for (const following of this.#followings) void following.stop();
    await Promise.all([
      this.#fetcher.stop(),
      this.#groupFetcher.stop(),
      ...[...this.#subscriptions].map((subscription) => subscription.crash()),
    ]);
  }

  /** Where the newest letters stand: other processes park too, such as the member that had a partition before. */
  async #newest(letters: string): Promise<Span> {
    const name = this.#prefix + letters;
    const [extent] = (await this.options.asker.extentsOf([name])).get(name)!;
    const { low, high } = extent!;
    return { from: Math.max(low, high - maxKnownLetters), to: high };
  }

  async #opened(): Promise<AvroCodec> {
    const codec = await within(
      Math.max(0, this.#patientUntilMs - performance.now()),
      this.options.codec.catch(() => undefined),
    );
    if (!codec) throw logUnavailable('The log cannot be reached yet.');
    return codec;
  }

  /** Dead letters are few and have one partition. */
  #partitionsOf(name: string): number {
    if (isDeadLetters(name)) return 1;
    const topic = this.options.topics.find((it) => it.name === name);
    if (!topic) throw new Error(`there is no topic ${name}`);
    return topic.partitions;
  }

  #outgoing(
    { name: topic, partitions, isUrgent }: Pick<AnyTopic, 'name' | 'partitions' | 'isUrgent'>,
    key: string,
    value: Buffer | null,
    headers: Headers = {},
  ): Outgoing {
    const keyBytes = keyBuffer.write(key);
    const bytes = (value?.length ?? 0) + keyBytes + sizeOf(headers) + overheadBytes;
    if (bytes > recordBytes * (isDeadLetters(topic) ? 2 : 1)) throw new RangeError(`a record of ${topic} has ${bytes} bytes: too many`);
    const partition = partitionOf(keyBuffer, partitions, keyBytes);
    return { topic: this.#prefix + topic, partition, bytes, isUrgent, message: { key, value, partition, headers } };
  }
}

/** Keeps the beginning of a record that is too large for a dead letter: another producer can write one, since a broker counts compressed bytes. */
function fitting(key: string, value: Buffer, headers: Headers): readonly [string, Buffer, Headers] {
  if (3 * key.length + value.length + sizeOf(headers) + overheadBytes <= 2 * recordBytes) return [key, value, headers];
  return [key.slice(0, keptKeyLength), value.subarray(0, recordBytes), { ...headers, [wholeBytes]: String(value.length) }];
}

const sizeOf = (headers: Headers): number =>
  Object.entries(headers).reduce((sum, [name, value]) => sum + 3 * (name.length + value.length), 0);

const stopping = (): ReturnType<typeof logUnavailable> => logUnavailable('The log is being closed.');

import { createRequire } from 'node:module';
import { crc32c } from '@node-rs/crc32';
import type { Admin, Kafka, KafkaMessage } from 'kafkajs';

const require = createRequire(import.meta.url);

// The checksum of kafkajs, in JavaScript, would be a third of what producing costs.
const checksum = require.resolve('kafkajs/src/protocol/recordBatch/crc32C');
require.cache[checksum] = { id: checksum, filename: checksum, loaded: true, exports: (bytes: Buffer) => crc32c(bytes) } as NodeJS.Module;

interface Encoder {
  buf: Buffer;
  readonly offset: number;
}

type NewEncoder = new (bytes: number) => Encoder;
const encoder = require.resolve('kafkajs/src/protocol/encoder');
const KafkaEncoder = require(encoder) as NewEncoder;
const smallBytes = 64;

// For each partition that a request names, the encoder of kafkajs fills 512 new bytes with zeros, and likewise each larger buffer that it copies a batch into.
require.cache[encoder]!.exports = class extends KafkaEncoder {
  constructor(bytes = smallBytes) {
    super(0);
    this.buf = Buffer.allocUnsafe(bytes);
  }

  ensureAvailable(bytes: number): void {
    const end = this.offset + bytes;
    if (end <= this.buf.length) return;
    const grown = Buffer.allocUnsafe(Math.max(end, 2 * this.buf.length));
    this.buf.copy(grown, 0, 0, this.offset);
    this.buf = grown;
  }
};

interface RequestQueue {
  readonly throttledUntil: number;
  readonly pending: readonly unknown[];
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
}

// After each request that was not throttled kafkajs sets a timer in the past, for which Node warns.
const idleMs = 10;
const queues = require('kafkajs/src/network/requestQueue') as { readonly prototype: object };

Object.assign(queues.prototype, {
  scheduleCheckPendingRequests(this: RequestQueue): void {
    const waitMs = this.throttledUntil - Date.now();
    if (this.throttleCheckTimeoutId || (this.pending.length === 0 && waitMs <= 0)) return;
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      },
      waitMs > 0 ? waitMs : idleMs,
    );
  },
});

interface Parsing<T> {
  parse: (answer: T) => Promise<T>;
}

/** Replaces how an answer is judged. Each version of it has its own file. */
function judging<T>(answer: 'produce' | 'metadata', versions: number, judge: (parse: Parsing<T>['parse'], answer: T) => Promise<T>): void {
  for (let version = 0; version <= versions; version++) {
    const response = require(`kafkajs/src/protocol/requests/${answer}/v${version}/response`) as Parsing<T>;
    const { parse } = response;
    Object.assign(response, { parse: (it: T) => judge(parse, it) });
  }
}

/** What a broker says of one partition of a send; code 0 when it is written. */
export interface PartitionAnswer {
  readonly topic: string;
  readonly partition: number;
  readonly errorCode: number;
}

interface ProduceAnswer {
  readonly topics: readonly { readonly topicName: string; readonly partitions: readonly Omit<PartitionAnswer, 'topic'>[] }[];
}

// kafkajs tells only the first refusal of an answer, and sends all of it again, for seconds, also what is written.
judging<ProduceAnswer>('produce', 7, (parse, answer) =>
  parse(answer).catch((error: object) => {
    throw Object.assign(error, { retriable: false, answer });
  }),
);

/** What a broker has said of each partition, when it has refused some of a send; undefined of any other error. */
export function answerIn(error: unknown): readonly PartitionAnswer[] | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { topics } = (at as { readonly answer?: ProduceAnswer }).answer ?? {};
    if (topics) return topics.flatMap(({ topicName: topic, partitions }) => partitions.map((one) => ({ topic, ...one })));
  }
  return undefined;
}

const { createErrorFromCode } = require('kafkajs/src/protocol/error') as { createErrorFromCode: (code: number) => Error };

/** The error that stands for a code of Kafka's. */
export const refusalOf = (code: number): Error => createErrorFromCode(code);

interface MetadataAnswer {
  readonly topicMetadata: readonly {
    readonly partitionMetadata: readonly { readonly partitionErrorCode: number; readonly leader: number }[];
  }[];
}

/** How long an answer is used in which a leader is missing. */
const partialMs = 1_000;
/** No leader, a replica that is away, no listener of the leader that we could use: the partition is described all the same. */
const partlyKnown = new Set([5, 9, 72]);

// One partition without a leader would hide the leaders of all others.
judging<MetadataAnswer>('metadata', 6, (parse, answer) => {
  const known = <P extends { readonly partitionErrorCode: number }>(one: P): P =>
    partlyKnown.has(one.partitionErrorCode) ? { ...one, partitionErrorCode: 0 } : one;
  const topicMetadata = answer.topicMetadata.map((topic) => ({ ...topic, partitionMetadata: topic.partitionMetadata.map(known) }));
  return parse({ ...answer, topicMetadata });
});

interface BrokerPool {
  readonly metadata: MetadataAnswer;
  readonly metadataMaxAge: number;
  metadataExpireAt: number;
  refreshMetadata: (topics: readonly string[]) => Promise<void>;
}

/** How long a client that sets no age, such as an admin, uses what it was told about topics. */
const defaultAgeMs = 10_000;
const pool = (require('kafkajs/src/cluster/brokerPool') as { readonly prototype: BrokerPool }).prototype;
const { refreshMetadata } = pool;

// Otherwise members of groups would look for a missing leader again only after minutes, and an admin would ask for its topics before each question.
pool.refreshMetadata = async function refreshInTime(this: BrokerPool, topics) {
  await refreshMetadata.call(this, topics);
  const isPartial = this.metadata.topicMetadata.some(({ partitionMetadata }) => partitionMetadata.some(({ leader }) => leader < 0));
  this.metadataExpireAt = Date.now() + (isPartial ? partialMs : this.metadataMaxAge || defaultAgeMs);
};

interface Runner {
  readonly running: boolean;
  readonly consumerGroup: { commitOffsets(offsets: object): Promise<void> };
}

const runners = require('kafkajs/src/consumer/runner') as { readonly prototype: object };

// kafkajs tries again for ten seconds to commit, by then perhaps in the name of the next assignment, and says nothing when the consumer does not run.
Object.assign(runners.prototype, {
  async commitOffsets(this: Runner, offsets: object): Promise<void> {
    if (!this.running) throw new Error('the consumer does not run');
    await this.consumerGroup.commitOffsets(offsets);
  },
});

/** kafkajs, with some of its parts replaced before it is loaded. */
export const kafkajs = require('kafkajs') as typeof import('kafkajs');

/** What a broker answers for one partition. Offsets are decimal. */
export interface FetchedPartition {
  readonly partition: number;
  /** The first offset that the partition still has. */
  readonly lastStartOffset: string;
  /** Everything before this offset is committed, and so handed over. */
  readonly lastStableOffset: string;
  /** All records of the batches that came, also those before the offset that was asked for, marks, and those of aborted transactions. */
  readonly messages: readonly (KafkaMessage & {
    readonly batchContext: { readonly firstOffset: string; readonly lastOffsetDelta: number };
  })[];
}

interface FetchRequest {
  readonly maxWaitTime: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly isolationLevel: number;
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly { readonly partition: number; readonly fetchOffset: string; readonly maxBytes: number }[];
  }[];
}

export interface Broker {
  /** Rejects when one of the partitions cannot be read. */
  fetch(request: FetchRequest): Promise<{
    readonly responses: readonly { readonly topicName: string; readonly partitions: readonly FetchedPartition[] }[];
  }>;
}

/** The brokers as the consumers of kafkajs see them. */
export interface Cluster {
  /** Whom `connect` has found first. */
  readonly brokerPool: { readonly seedBroker: { readonly connectionPool: { send<T>(question: object): Promise<T> } } };
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  findTopicPartitionMetadata(topic: string): readonly { readonly partitionId: number }[];
  /** The first offsets of partitions, or those of their next records. */
  fetchTopicsOffset(
    of: readonly {
      readonly topic: string;
      readonly partitions: readonly { readonly partition: number }[];
      readonly fromBeginning: boolean;
    }[],
  ): Promise<
    readonly { readonly topic: string; readonly partitions: readonly { readonly partition: number; readonly offset: string }[] }[]
  >;
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Readonly<Record<string, readonly number[]>>;
  findBroker(of: { readonly nodeId: string }): Promise<Broker>;
  /** Asks which broker coordinates a group. */
  findGroupCoordinatorMetadata(of: { readonly groupId: string }): Promise<object>;
}

type NewCluster = (options: object) => Cluster;

function makerOf(kafka: Kafka): [owner: Record<symbol, NewCluster>, name: symbol] {
  const name = Object.getOwnPropertySymbols(kafka).find(({ description }) => description === 'private:Kafka:createCluster')!;
  return [kafka as unknown as Record<symbol, NewCluster>, name];
}

/**
 * An admin and what it sees the brokers with, which can ask for several topics at once. It asks who coordinates a group once: when it remembers a broker
 * that does not any more, its question fails, and a new client is needed.
 */
export function adminOf(kafka: Kafka): { readonly admin: Admin; readonly cluster: Cluster } {
  const [owner, name] = makerOf(kafka);
  const make = owner[name]!;
  const made: Cluster[] = [];
  owner[name] = (options) => made[made.push(make.call(kafka, options)) - 1]!;
  const admin = kafka.admin();
  owner[name] = make;
  const cluster = made[0]!;
  const coordinators = new Map<string, Promise<object>>();
  const find = cluster.findGroupCoordinatorMetadata.bind(cluster);
  cluster.findGroupCoordinatorMetadata = async (of) => {
    const finding = coordinators.get(of.groupId) ?? find(of);
    coordinators.set(of.groupId, finding);
    finding.catch(() => coordinators.delete(of.groupId));
    return finding;
  };
  return { admin, cluster };
}

/** kafkajs has no consumer without a group, so a reader without one is made of what its consumers are made of. */
export function clusterOf(kafka: Kafka): Cluster {
  const [owner, name] = makerOf(kafka);
  return owner[name]!.call(kafka, {
    metadataMaxAge: 300_000,
    allowAutoTopicCreation: false,
    maxInFlightRequests: null,
    isolationLevel: readCommitted,
  });
}

/** Records of transactions that are open or were aborted are not handed over. */
export const readCommitted = 1;

type Batch = new (topic: string, from: string, partition: FetchedPartition) => { readonly messages: readonly KafkaMessage[] };
const KafkaBatch = require('kafkajs/src/consumer/batch') as Batch;

/** The records of what was fetched from an offset on, without marks and without those of aborted transactions. */
export const messagesOf = (topic: string, from: number, fetched: FetchedPartition): readonly KafkaMessage[] =>
  new KafkaBatch(topic, String(from), fetched).messages;

import { createRequire } from 'node:module';
import { crc32c } from '@node-rs/crc32';
import type { Kafka, KafkaMessage } from 'kafkajs';

const require = createRequire(import.meta.url);

// The checksum of kafkajs, in JavaScript, would be a third of what producing costs.
const checksum = require.resolve('kafkajs/src/protocol/recordBatch/crc32C');
require.cache[checksum] = { id: checksum, filename: checksum, loaded: true, exports: (bytes: Buffer) => crc32c(bytes) } as NodeJS.Module;

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

/** kafkajs, with two of its parts replaced before it is loaded. */
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
  connect(): Promise<void>;
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Readonly<Record<string, readonly number[]>>;
  findBroker(of: { readonly nodeId: string }): Promise<Broker>;
}

type NewCluster = (options: object) => Cluster;

/** kafkajs has no consumer without a group, so a reader without one is made of what its consumers are made of. */
export function clusterOf(kafka: Kafka): Cluster {
  const name = Object.getOwnPropertySymbols(kafka).find(({ description }) => description === 'private:Kafka:createCluster')!;
  const create = (kafka as unknown as Record<symbol, NewCluster>)[name]!;
  return create.call(kafka, {
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

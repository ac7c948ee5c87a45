import type { Message, Producer } from 'kafkajs';
import { newClient, type Client, type KafkaAddress, type Order } from '../client.js';
import { answerIn, kafkajs, refusalOf, type PartitionAnswer } from '../kafkajs.js';
import { partitionName, type TopicPartition } from '../topic-partition.js';
import { answered } from '../trouble.js';

/** Records of one partition, in order. */
export interface Sending extends TopicPartition {
  readonly messages: readonly Message[];
}

/** Writes records into the log. */
export interface Producing {
  /**
   * Resolves with what is not in the log, and why; it may be sent again at once. When it rejects, some of it may be in the log, and a frozen
   * broker may still write what it has received; this machine sends no more of it. Call it again only when it has settled.
   */
  send(sendings: readonly Sending[]): Promise<ReadonlyMap<Sending, Error>>;
  /** What is under way rejects at once, and no more of it leaves. */
  cut(): void;
  close(): Promise<void>;
}

/** Smaller batches are not compressed: compressing has a fixed cost for each batch. */
const smallBytes = 1_024;
/** How long a broker waits for the replicas of a partition, before it answers for all partitions of a send. */
const replicasMs = 3_000;
const connectMs = 10_000;
const sendMs = 20_000;

/**
 * An idempotent producer that loses nothing. kafkajs swallows records in three ways, and each has its guard here:
 * a send over several brokers may resolve although a partition was never written: the answer is compared with what was sent;
 * after a refusal the next records of that producer vanish: a producer that failed is never used again;
 * of several sends at once some vanish when a broker restarts: the caller sends one thing at a time.
 */
export class GuardedProducer implements Producing {
  #client: Client | undefined;
  /** Once it is connected. */
  #producer: Producer | undefined;
  /** After a failure: a broker that tells of one answers, and one that says nothing may have frozen. */
  #order: Order = {};
  #cut = Promise.withResolvers<never>();

  constructor(private readonly address: KafkaAddress) {}

  async send(sendings: readonly Sending[]): Promise<ReadonlyMap<Sending, Error>> {
    this.#cut = Promise.withResolvers();
    try {
      const answer = await Promise.race([this.#send(sendings), this.#cut.promise]);
      return notIn(answer, sendings);
    } catch (cause) {
      const answer = answerIn(cause);
      if (this.#client) this.#order = answer ? { first: this.#client.heard } : { last: this.#client.suspects() };
      this.cut();
      if (!answer) throw cause;
      return notIn(answer, sendings);
    }
  }

  async close(): Promise<void> {
    await this.#producer?.disconnect().catch(() => undefined);
    this.cut();
  }

  cut(): void {
    this.#client?.cut();
    this.#client = this.#producer = undefined;
    this.#cut.reject(new Error('no answer came in time'));
    // When nothing is under way, nobody hears of it.
    this.#cut.promise.catch(() => undefined);
  }

  async #send(sendings: readonly Sending[]): Promise<readonly PartitionAnswer[]> {
    this.#producer ??= await this.#connect();
    const answer = await answered(sendMs, this.#producer.sendBatch(request(sendings)));
    return answer.map(({ topicName: topic, partition, errorCode }) => ({ topic, partition, errorCode }));
  }

  async #connect(): Promise<Producer> {
    this.#client = newClient(this.address, undefined, this.#order);
    const producer = this.#client.kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition!,
    });
    await answered(connectMs, producer.connect());
    return producer;
  }
}

function request(sendings: readonly Sending[]): Parameters<Producer['sendBatch']>[0] {
  const byTopic = Map.groupBy(sendings, ({ topic }) => topic);
  return {
    acks: -1,
    timeout: replicasMs,
    compression: isSmall(sendings) ? kafkajs.CompressionTypes.None : kafkajs.CompressionTypes.ZSTD,
    topicMessages: [...byTopic].map(([topic, parts]) => ({ topic, messages: parts.flatMap(({ messages }) => [...messages]) })),
  };
}

function isSmall(sendings: readonly Sending[]): boolean {
  let bytes = 0;
  for (const { messages } of sendings) for (const { value } of messages) bytes += value?.length ?? 0;
  return bytes < smallBytes * sendings.length;
}

/** What an answer does not say to be written, and why. */
function notIn(answer: readonly PartitionAnswer[], sendings: readonly Sending[]): ReadonlyMap<Sending, Error> {
  const codes = new Map(answer.map((one) => [partitionName(one), one.errorCode]));
  const missing = new Map<Sending, Error>();
  for (const sending of sendings) {
    const code = codes.get(partitionName(sending));
    if (code !== 0) missing.set(sending, code === undefined ? new Error('the answer leaves the partition out') : refusalOf(code));
  }
  return missing;
}

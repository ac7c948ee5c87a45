import type { IHeaders, KafkaMessage } from 'kafkajs';
import { isDeadLetters, partitionOf, type AnyTopic, type Headers, type StreamRecord, type Unreadable } from '#log';

const noBytes = new Uint8Array();

/** Where a record stands in its topic. */
export interface RecordPlace {
  readonly partition: number;
  /** Decimal. */
  readonly offset: string;
}

/** Decodes the values of records. */
export interface RecordCodec {
  /** Throws as `AvroCodec.decode` does. */
  decode(topic: AnyTopic, key: string, bytes: Buffer, place: RecordPlace): unknown;
  /** Asks the registry for a schema that `decode` did not know. Rejects as `AvroCodec.learn` does. */
  learn(topic: AnyTopic, schemaId: number): Promise<void>;
}

/** A record as consumers get it, with its bytes. */
export class KafkaRecord implements StreamRecord {
  constructor(
    readonly topic: AnyTopic,
    readonly partition: number,
    readonly offset: number,
    readonly key: string,
    readonly value: unknown,
    readonly appendedMs: number,
    readonly headers: Headers,
    readonly encoded: Uint8Array,
  ) {}

  get bytes(): number {
    return this.encoded.length;
  }

  /** @throws Error when the bytes are not a record of the topic, or stand where records with this key do not belong. */
  static decode(codec: RecordCodec, topic: AnyTopic, partition: number, message: KafkaMessage): KafkaRecord {
    const { offset, value, timestamp, headers } = message;
    const key = textOf(message.key);
    const home = partitionOf(message.key ?? noBytes, isDeadLetters(topic.name) ? 1 : topic.partitions);
    if (home !== partition)
      throw new Error(`The key belongs to partition ${home}: a producer must choose partitions as Kafka's own does (murmur2).`);
    const decoded = value && codec.decode(topic, key, value, { partition, offset });
    return new KafkaRecord(topic, partition, Number(offset), key, decoded, Number(timestamp), labels(headers), value ?? noBytes);
  }

  /** The record with its bytes as its value. */
  static asBytes(topic: AnyTopic, partition: number, { offset, key, value, timestamp, headers }: KafkaMessage): KafkaRecord {
    return new KafkaRecord(topic, partition, Number(offset), textOf(key), value, Number(timestamp), labels(headers), value ?? noBytes);
  }
}

/** What the codec refused. */
export interface Refused extends Unreadable {
  /** Unix milliseconds. */
  readonly appendedMs: number;
}

export function refused(topic: AnyTopic, partition: number, message: KafkaMessage, reason: string): Refused {
  const { offset, key, value, headers, timestamp } = message;
  const place = { topic, partition, offset: Number(offset), appendedMs: Number(timestamp) };
  return { ...place, key: textOf(key), bytes: value ?? noBytes, headers: labels(headers), reason };
}

const textOf = (bytes: Buffer | null): string => bytes?.toString() ?? '';

/** The first of each name: a foreign writer may repeat one. */
function labels(headers: IHeaders | undefined): Headers {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers ?? {})) {
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) found[name] = first.toString();
  }
  return found;
}

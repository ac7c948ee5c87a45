import type { AnyTopic, Headers, StreamRecord } from '#log';
import type { AvroCodec } from '#topics';
import type { Raw } from './chunk.js';

/** A record as consumers get it. One that came from the file still has its bytes. */
export class LogRecord implements StreamRecord {
  readonly #raw: Uint8Array | undefined;

  constructor(
    readonly topic: AnyTopic,
    readonly partition: number,
    readonly offset: number,
    readonly key: string,
    readonly value: unknown,
    readonly appendedMs: number,
    readonly headers: Headers,
    readonly bytes: number,
    raw?: Uint8Array,
  ) {
    this.#raw = raw;
  }

  /** @throws Error when the bytes are not a record of the topic. */
  static decode(codec: AvroCodec, topic: AnyTopic, { partition, offset, key, value, ms, headers }: Raw): LogRecord {
    const decoded = value && codec.decode(topic, key, value);
    return new LogRecord(topic, partition, offset, key, decoded, ms, headers, value?.length ?? 0, value ?? undefined);
  }

  /** The record with its bytes as its value. */
  static raw(topic: AnyTopic, { partition, offset, key, value, ms, headers }: Raw): LogRecord {
    return new LogRecord(topic, partition, offset, key, value, ms, headers, value?.length ?? 0, value ?? undefined);
  }

  /** As `raw`, of a record whose value is known. */
  static asBytes({ topic, partition, offset, key, value, appendedMs, headers, bytes }: StreamRecord, codec: AvroCodec): LogRecord {
    const encoded = value === null ? null : codec.encode(topic, value);
    return new LogRecord(topic, partition, offset, key, encoded, appendedMs, headers, bytes, encoded ?? undefined);
  }

  encoded(codec: AvroCodec): Uint8Array {
    return this.#raw ?? codec.encode(this.topic, this.value);
  }
}

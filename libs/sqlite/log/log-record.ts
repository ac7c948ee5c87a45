import type { AnyTopic, Headers, StreamRecord } from '#log';
import type { AvroCodec } from '#topics';
import type { RawRecord } from './frame.js';

/** A record as consumers get it. A record that was read from the file keeps its encoded bytes. */
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

  /** A record that was read from the file, with its value decoded, or with its bytes as its value. */
  static read(topic: AnyTopic, { partition, offset, key, value: bytes, ms, headers }: RawRecord, value: unknown): LogRecord {
    return new LogRecord(topic, partition, offset, key, value, ms, headers, bytes?.length ?? 0, bytes ?? undefined);
  }

  /** A record that is in memory, with its bytes as its value. */
  static asBytes({ topic, partition, offset, key, value, appendedMs, headers, bytes }: StreamRecord, codec: AvroCodec): LogRecord {
    const encoded = value === null ? null : codec.encode(topic, value);
    return new LogRecord(topic, partition, offset, key, encoded, appendedMs, headers, bytes, encoded ?? undefined);
  }

  encoded(codec: AvroCodec): Uint8Array {
    return this.#raw ?? codec.encode(this.topic, this.value);
  }
}

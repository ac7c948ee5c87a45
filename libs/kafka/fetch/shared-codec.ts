import type { AnyTopic } from '#log';
import type { AvroCodec } from '#topics';
import { Recent } from './recent.js';
import type { RecordCodec, RecordPlace } from './kafka-record.js';

/** Bytes of records that are remembered; their values take about as much again. */
const defaultMaxBytes = 8 << 20;

/**
 * Decodes a record once for all groups of a process. Groups that read the same topic get the same value, which none of them may change. A group
 * that is so far behind the others that the value is forgotten decodes the record again.
 */
export class SharedCodec implements RecordCodec {
  readonly #recent: Recent<unknown>;

  constructor(
    private readonly codec: AvroCodec,
    maxBytes = defaultMaxBytes,
  ) {
    this.#recent = new Recent(maxBytes);
  }

  decode(topic: AnyTopic, key: string, bytes: Buffer, { partition, offset }: RecordPlace): unknown {
    const name = `${topic.name}/${partition}/${offset}/${key}`;
    // A topic that was made anew has other records at the same offsets.
    const known = this.#recent.of(name, bytes);
    if (known !== undefined) return known;
    const value = this.codec.decode(topic, key, bytes);
    this.#recent.remember(name, bytes, value, bytes.length);
    return value;
  }

  learn(topic: AnyTopic, schemaId: number): Promise<void> {
    return this.codec.learn(topic, schemaId);
  }
}

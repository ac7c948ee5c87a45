import type { AnyTopic } from '#log';
import type { AvroCodec } from '#topics';

/** Where a record stands in its topic. */
export interface RecordPlace {
  readonly partition: number;
  /** Decimal. */
  readonly offset: string;
}

/** What makes values of the bytes of records. */
export interface RecordCodec {
  /** As `AvroCodec.decode`. */
  decode(topic: AnyTopic, key: string, bytes: Buffer, place: RecordPlace): unknown;
  /** As `AvroCodec.learn`. */
  learn(topic: AnyTopic, schemaId: number): Promise<void>;
}

interface Decoded {
  readonly bytes: Buffer;
  readonly value: unknown;
}

const defaultMaxBytes = 8 << 20;
/** What one more value takes beside its bytes, about. */
const overheadBytes = 200;

/**
 * Decodes a record once for all groups of a process: those that read the same topic get the same value, unless one is so far behind the others
 * that the value is forgotten by then. Nobody may change it.
 */
export class SharedCodec implements RecordCodec {
  /** Oldest first, by place and key. */
  readonly #recent = new Map<string, Decoded>();
  #bytes = 0;

  /** @param maxBytes how many bytes of records are remembered; their values take about as much again. */
  constructor(
    private readonly codec: AvroCodec,
    private readonly maxBytes = defaultMaxBytes,
  ) {}

  decode(topic: AnyTopic, key: string, bytes: Buffer, { partition, offset }: RecordPlace): unknown {
    const name = `${topic.name}/${partition}/${offset}/${key}`;
    const known = this.#recent.get(name);
    // A topic that was made anew has other records at the same offsets.
    if (known?.bytes.equals(bytes)) return known.value;
    const value = this.codec.decode(topic, key, bytes);
    if (known) this.#forget(name, known);
    this.#recent.set(name, { bytes, value });
    this.#bytes += bytes.length + overheadBytes;
    for (const [oldest, decoded] of this.#recent) {
      if (this.#bytes <= this.maxBytes) break;
      this.#forget(oldest, decoded);
    }
    return value;
  }

  learn(topic: AnyTopic, schemaId: number): Promise<void> {
    return this.codec.learn(topic, schemaId);
  }

  #forget(name: string, { bytes }: Decoded): void {
    this.#recent.delete(name);
    this.#bytes -= bytes.length + overheadBytes;
  }
}

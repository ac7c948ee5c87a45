/** Says where a record goes and how it is encoded. `V` is what our code sees; the schema is what other tools see. */
export interface Topic<V> {
  /** Kafka name, for example `telemetry.points.v1`. */
  readonly name: string;
  /** Name of its record type in `schemas/` without the version, for example `point-batch`. */
  readonly schema: string;
  /** `delete` keeps all records; `compact` keeps the newest of each key, and none once that is a tombstone. */
  readonly cleanup: 'delete' | 'compact';
  /** How long Kafka keeps a record that is not compacted, until the operator says otherwise; for ever when left out. The log of one process keeps all. */
  readonly keptMs?: number;
  /**
   * What a view of a compacted topic makes of a record that cannot be decoded: `absent` takes it for a tombstone, `skipped` lets its key
   * keep the value it had; `absent` when left out.
   */
  readonly unreadable?: 'absent' | 'skipped';
  /** Somebody waits for each record: those of other topics, which may be many, are not sent before it. */
  readonly isUrgent?: boolean;
  /** Fixed when the topic is made: another number re-maps keys. */
  readonly partitions: number;
  /** Records with the same key are in one partition, in the order in which they were appended. */
  key(value: V): string;
  /** What a value breaks that its schema allows, in words; undefined if nothing. Other producers' records are held to it too. */
  flaw?(value: V): string | undefined;
}

/** Any topic: for code that routes records without looking into them. */
export type AnyTopic = Topic<unknown>;

/** Text labels carried beside a record: `request_id`, `traceparent`, and why and where for a parked record. */
export type Headers = Readonly<Record<string, string>>;

/** A record to append; null is a tombstone. */
export interface Entry<V = unknown> {
  readonly topic: Topic<V>;
  readonly key: string;
  readonly value: V | null;
  readonly headers?: Headers | undefined;
}

/** An entry for a value. @param key the topic's own when left out. */
export function entry<V>(topic: Topic<V>, value: V, headers?: Headers, key = topic.key(value)): Entry<V> {
  // Always the same fields in the same order: V8 recompiles the functions that take entries when it meets an entry with other fields.
  return { topic, key, value, headers };
}

/** The entry that ends a key of a compacted topic. */
export function tombstone<V>(topic: Topic<V>, key: string): Entry<V> {
  return { topic, key, value: null, headers: undefined };
}

/** A record as it comes from the log. */
export interface StreamRecord<V = unknown> {
  readonly topic: Topic<V>;
  readonly partition: number;
  /** Grows along the partition; there may be gaps. */
  readonly offset: number;
  readonly key: string;
  /** Null is a tombstone. */
  readonly value: V | null;
  /** Ingest time, Unix milliseconds. */
  readonly appendedMs: number;
  readonly headers: Headers;
  /** Encoded size. */
  readonly bytes: number;
}

/** A record that cannot be decoded. The log hands it over as bytes so that the runner can park it. */
export interface Unreadable {
  readonly topic: AnyTopic;
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly headers: Headers;
  readonly reason: string;
}

/** Where a reader goes on in one partition: the offset of the next record it wants. */
export interface Position {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

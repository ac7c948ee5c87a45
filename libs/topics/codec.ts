import type { Type } from 'avsc';
import type { AnyTopic, Topic } from '#log';
import { AvroWriter } from './avro-writer.js';
import { avroType } from './avro.js';
import { batchCoders, olderReaders } from './batch-coders.js';
import { generalCoder, type BodyCoder } from './body-coder.js';
import { schemaVersions } from './schema-files.js';
import type { SchemaRegistry } from './schema-registry.js';

const headBytes = 5;
const magic = 0;

interface Coding {
  readonly schemaId: number;
  /** The newest version of the schema, which is what we write. */
  readonly type: () => Type;
  readonly coder: BodyCoder<unknown>;
  /** How to read what older, newer and other writers wrote, by schema id. */
  readonly readers: Map<number, (body: Buffer) => unknown>;
}

/** A record was written with a schema id that this process has not learned. */
export class UnknownSchema extends Error {
  constructor(readonly schemaId: number) {
    super(`no schema with id ${schemaId} is known`);
  }
}

/** There is no schema with that id, or our type cannot read what was written with it. Permanent: do not retry. */
export class UnreadableSchema extends Error {}

/** Records as bytes: Confluent framing (0x00, schema id as 4 bytes, big-endian) and the Avro body. */
export class AvroCodec {
  readonly #codings = new Map<string, Coding>();
  readonly #writer = new AvroWriter();

  private constructor(private readonly registry: SchemaRegistry) {}

  /** Registers all versions of the schemas of these topics, oldest first. Rejects when the registry refuses one. */
  static async open(registry: SchemaRegistry, topics: readonly AnyTopic[]): Promise<AvroCodec> {
    const codec = new AvroCodec(registry);
    for (const topic of topics) {
      const texts = schemaVersions(topic.schema);
      const ids: number[] = [];
      for (const text of texts) ids.push(await registry.register(`${topic.name}-value`, text));
      const type = onDemand(() => ownType(texts.at(-1)!));
      const coder = batchCoders[`${topic.schema}.v${texts.length}`] ?? generalCoder(type);
      const coding: Coding = { schemaId: ids.at(-1)!, type, coder, readers: new Map() };
      for (const [at, id] of ids.entries()) {
        const own = onDemand(() => reader(coding, ownType(texts[at]!)));
        coding.readers.set(id, olderReaders[`${topic.schema}.v${at + 1}`] ?? ((body) => own()(body)));
      }
      codec.#codings.set(topic.name, coding);
    }
    return codec;
  }

  /** @throws Error when the value does not fit the schema. The bytes are the caller's to keep. */
  encode<V>(topic: Topic<V>, value: V): Buffer {
    const { schemaId, coder } = this.#coding(topic);
    this.#writer.restart(headBytes);
    coder.write(value, this.#writer);
    const record = Buffer.from(this.#writer.written());
    record.writeUInt8(magic, 0);
    record.writeUInt32BE(schemaId, 1);
    return record;
  }

  /**
   * @throws UnknownSchema when `learn` must be called first. @throws Error when the bytes are not a record of this topic, or one that
   * breaks its rules or stands under another key than its own.
   */
  decode<V>(topic: Topic<V>, key: string, bytes: Uint8Array): V {
    const value = this.read(topic, bytes);
    const flaw = topic.flaw?.(value);
    if (flaw) throw new Error(flaw);
    if (topic.key(value) !== key) throw new Error('the record stands under another key than its own');
    return value;
  }

  /** As `decode`, without checking the rules of the topic or the key: for people who look for what is wrong. */
  read<V>(topic: Topic<V>, bytes: Uint8Array): V {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (buffer.length < headBytes || buffer[0] !== magic) throw new Error('the record does not begin with 0x00 and a schema id');
    const schemaId = buffer.readUInt32BE(1);
    const read = this.#coding(topic).readers.get(schemaId);
    if (!read) throw new UnknownSchema(schemaId);
    return read(buffer.subarray(headBytes)) as V;
  }

  /** As `read`, but asks the registry for unknown schemas; undefined when the bytes are not a record of this topic. */
  async valueOf<V>(topic: Topic<V>, bytes: Uint8Array): Promise<V | undefined> {
    try {
      return this.read(topic, bytes);
    } catch (error) {
      if (!(error instanceof UnknownSchema)) return undefined;
      const again = this.learn(topic, error.schemaId).then(() => this.read(topic, bytes));
      return again.catch(() => undefined);
    }
  }

  /** Asks the registry for a schema that `decode` did not know. Rejects UnreadableSchema, and as the registry does. */
  async learn(topic: AnyTopic, schemaId: number): Promise<void> {
    const text = await this.registry.schema(schemaId);
    if (text === undefined) throw new UnreadableSchema(`the registry has no schema with id ${schemaId}`);
    const coding = this.#coding(topic);
    try {
      coding.readers.set(schemaId, reader(coding, avroType(text)));
    } catch (cause) {
      throw new UnreadableSchema(`the schema with id ${schemaId} does not fit the topic: ${(cause as Error).message}`);
    }
  }

  #coding(topic: AnyTopic): Coding {
    const coding = this.#codings.get(topic.name);
    if (!coding) throw new Error(`the codec was not opened with topic ${topic.name}`);
    return coding;
  }
}

/** Makes a value when it is first asked for. All types and readers together take a tenth of a second, and a small server needs few of them. */
function onDemand<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

const ownTypes = new Map<string, Type>();

/** The type of one of our own schemas, made once, however many codecs there are: it takes a millisecond. */
function ownType(text: string): Type {
  let type = ownTypes.get(text);
  if (!type) ownTypes.set(text, (type = avroType(text)));
  return type;
}

function reader({ type, coder }: Coding, writer: Type): (body: Buffer) => unknown {
  const own = type();
  if (writer.fingerprint().equals(own.fingerprint())) return (body) => coder.read(body);
  const resolver = own.createResolver(writer);
  return (body) => own.fromBuffer(body, resolver);
}

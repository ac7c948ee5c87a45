import { createRequire } from 'node:module';
import { hash } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import { clusterOf } from './kafkajs.js';

interface Encoder {
  writeInt32(value: number): this;
  writeUVarIntString(value: string): this;
  writeUVarIntArray(values: readonly Encoder[]): this;
  writeUVarIntBytes(): this;
  writeBoolean(value: boolean): this;
}

interface Decoder {
  readTaggedFields(): unknown;
  readInt16(): number;
  readInt32(): number;
  readUVarIntString(): string | null;
  readUVarIntArray<T>(read: (decoder: Decoder) => T): readonly T[];
  readBytes(length: number): Buffer;
}

const require = createRequire(import.meta.url);
const KafkaEncoder = require('kafkajs/src/protocol/encoder') as new () => Encoder;
const KafkaDecoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => Decoder;
const { failure, createErrorFromCode } = require('kafkajs/src/protocol/error') as {
  failure: (code: number) => boolean;
  createErrorFromCode: (code: number) => Error;
};

interface Identity {
  readonly code: number;
  readonly clusterId: string | null;
  readonly topicId: Buffer;
}

const idBytes = 16;

/** Metadata as of Kafka 2.8: the oldest version that tells the id of a topic, and newer than what kafkajs asks for. */
const request = (topic: string): object => ({
  apiKey: 3,
  apiVersion: 10,
  apiName: 'Metadata',
  encode: async () => {
    // A topic that is asked for by its name has no id in the question.
    const one = new KafkaEncoder().writeInt32(0).writeInt32(0).writeInt32(0).writeInt32(0).writeUVarIntString(topic).writeUVarIntBytes();
    return (
      new KafkaEncoder()
        .writeUVarIntBytes()
        .writeUVarIntArray([one])
        // No topic is made, and nobody asks who may use it.
        .writeBoolean(false)
        .writeBoolean(false)
        .writeBoolean(false)
        .writeUVarIntBytes()
    );
  },
});

const response = {
  decode: async (bytes: Buffer): Promise<Identity> => {
    const answer = new KafkaDecoder(bytes);
    answer.readTaggedFields();
    answer.readInt32();
    answer.readUVarIntArray(skipBroker);
    const clusterId = answer.readUVarIntString();
    answer.readInt32();
    const [topic] = answer.readUVarIntArray((it) => {
      const code = it.readInt16();
      it.readUVarIntString();
      return { code, topicId: it.readBytes(idBytes) };
    });
    return { clusterId, ...topic! };
  },
  parse: async (answer: Identity): Promise<Identity> => {
    if (failure(answer.code)) throw createErrorFromCode(answer.code);
    return answer;
  },
};

function skipBroker(answer: Decoder): void {
  answer.readInt32();
  answer.readUVarIntString();
  answer.readInt32();
  answer.readUVarIntString();
  answer.readTaggedFields();
}

/**
 * A name for a topic as it is now: a topic of the same name that was made later, or in another cluster, has another one.
 *
 * @param topic as Kafka calls it.
 */
export async function identityOf(kafka: Kafka, topic: string): Promise<string> {
  const cluster = clusterOf(kafka);
  await cluster.connect();
  try {
    const { clusterId, topicId } = await cluster.brokerPool.seedBroker.connectionPool.send<Identity>({ request: request(topic), response });
    return hash('sha256', `${clusterId}/${topicId.toString('hex')}`).slice(0, 16);
  } finally {
    await cluster.disconnect();
  }
}

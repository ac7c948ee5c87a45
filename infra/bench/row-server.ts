import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import { makeTopic, plainKafka, plainProducer } from './kafka-topic.js';

/**
 * What the clients' documentation leads to: each point is an Avro record and a Kafka record of its own, encoded with
 * @kafkajs/confluent-schema-registry and sent with kafkajs, one send a request. Without keys, limits or checks of the points.
 */
const [brokers, registryUrl, topic, port] = process.argv.slice(2) as [string, string, string, string];

const schema = {
  type: 'record',
  name: 'Point',
  namespace: 'bench',
  fields: [
    { name: 'org_id', type: 'string' },
    { name: 'source_id', type: 'string' },
    { name: 'received_ms', type: 'long' },
    { name: 'metric', type: 'string' },
    { name: 'tags', type: { type: 'map', values: 'string' }, default: {} },
    { name: 'timestamp_ms', type: 'long' },
    { name: 'value', type: 'double' },
  ],
};

interface Body {
  readonly source_id: string;
  readonly points: readonly { readonly metric: string; readonly value: number; readonly timestamp: number }[];
}

const kafka = plainKafka(brokers);
await makeTopic(kafka, topic);
const producer = plainProducer(kafka);
await producer.connect();
const registry = new SchemaRegistry({ host: registryUrl });
const { id } = await registry.register({ type: SchemaType.AVRO, schema: JSON.stringify(schema) }, { subject: `${topic}-value` });

async function accept(request: IncomingMessage, answer: ServerResponse): Promise<void> {
  const { source_id, points } = JSON.parse((await buffer(request)).toString()) as Body;
  const received_ms = Date.now();
  const messages = await Promise.all(
    points.map(async ({ metric, value, timestamp }) => ({
      key: source_id,
      value: await registry.encode(id, { org_id: 'bench', source_id, received_ms, metric, tags: {}, timestamp_ms: timestamp, value }),
    })),
  );
  await producer.send({ topic, messages });
  answer.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}');
}

const server = createServer((request, answer) => {
  if (request.method === 'GET') answer.end();
  else accept(request, answer).catch((error: Error) => answer.writeHead(500).end(error.message));
});
server.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));

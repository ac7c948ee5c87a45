import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { Asker } from './asker.js';

let broker: Server;
let asker: Asker;
afterEach(async () => {
  await asker.close();
  broker.close();
});

it('is told soon what to check by brokers that close each connection, as one does that wants TLS or a password', async () => {
  broker = createServer((socket) => void socket.once('data', () => socket.end())).listen(0, '127.0.0.1');
  await once(broker, 'listening');
  const at = `127.0.0.1:${(broker.address() as AddressInfo).port}`;
  asker = new Asker({ brokers: [at] });
  const beganMs = performance.now();
  await expect(asker.ask((admin) => admin.describeCluster())).rejects.toMatchObject({
    code: 'log_unavailable',
    message: `Kafka cannot be used: ${at} closes our connections: if it always does, check HEADWATER_KAFKA_TLS and HEADWATER_KAFKA_SASL.`,
  });
  expect(performance.now() - beganMs).toBeLessThan(10_000);
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { openKafka, type KafkaOptions } from '#kafka';
import { entry } from '#log';
import type { Lease } from '#model';
import { describeOnKafka, LogConsumer, serverEnvironment, until } from '#testing';
import { sources } from '#topics';
import { HttpSink } from './http-sink.js';

describeOnKafka('a member of a group that sends a body', () => {
  it('has its answer before others get the partitions', async () => {
    const answer = Promise.withResolvers<void>();
    const server = createServer((request, response) => {
      request.resume().on('end', () => void answer.promise.then(() => response.writeHead(204).end()));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const sink = new HttpSink(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const { HEADWATER_KAFKA_BROKERS: brokers, HEADWATER_REGISTRY_URL: registry } = serverEnvironment();
    const options: KafkaOptions = {
      brokers: brokers!.split(','),
      registry: { url: registry! },
      prefix: `lease${randomBytes(6).toString('hex')}.`,
      topics: [sources],
      replicationFactor: 1,
      minInsyncReplicas: 1,
      report: () => undefined,
    };
    const one = await openKafka(options);
    const two = await openKafka(options);
    const leases: Lease[] = [];
    const sent: Promise<void>[] = [];
    try {
      await LogConsumer.join(one.log, {
        group: 'g',
        topics: [sources],
        handler: (_, lease) => {
          leases.push(lease);
          sent.push(sink.send([Buffer.from('t,a=b value=1 1\n')], lease));
          return sent.at(-1)!;
        },
      });
      await one.log.append([entry(sources, { orgId: 'o', sourceId: 's', firstReceivedMs: 1, lastReceivedMs: 1 })]);
      await until('it is under way', () => sent.length === 1);
      const order: string[] = [];
      const joined = LogConsumer.join(two.log, { group: 'g', topics: [sources] }).then(() => order.push('joined'));
      await until('the group wants the partitions back', () => !leases[0]!.held());
      const lostMs = performance.now();
      await until('a lost lease would have ended it', () => performance.now() - lostMs > 300);
      order.push('answered');
      answer.resolve();
      await sent[0];
      await joined;
      expect(order).toEqual(['answered', 'joined']);
    } finally {
      answer.resolve();
      await Promise.all([one.close(), two.close()]);
      sink.close();
      server.close();
    }
  });
});

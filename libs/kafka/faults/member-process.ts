import { setTimeout as pause } from 'node:timers/promises';
import type { StreamRecord } from '#log';
import { sources } from '#topics';
import { openKafka, type KafkaOptions } from '../open-kafka.js';

/**
 * A member of a group in a process of its own. It holds each batch for a while, as a processor would, and prints a line of JSON for what
 * it took, for what it made an effect of, and for what it dropped because its lease was lost.
 */
const [options, holdMs] = JSON.parse(process.argv[2]!) as [KafkaOptions, number];
const kafka = await openKafka({ ...options, topics: [sources], report: () => undefined });
const tell = (what: string, records: readonly StreamRecord[]): void =>
  void process.stdout.write(`${JSON.stringify({ what, keys: records.map(({ key }) => key) })}\n`);

await kafka.log.consume({
  group: 'g',
  topics: [sources],
  handler: async (records, lease) => {
    tell('took', records);
    await pause(holdMs);
    const held = lease.held();
    tell(held ? 'did' : 'dropped', records);
    if (!held) throw new Error('the lease is lost');
  },
  unreadable: () => Promise.resolve(),
  stopped: () => undefined,
});
tell('joined', []);

import type { ConsumerGroupJoinEvent } from 'kafkajs';
import { MoveRefused } from '#log';
import { newClient, type KafkaAddress } from './client.js';
import { assigner } from './group/assigner.js';
import type { Place } from './group/assignment.js';
import { logUnavailable, within } from './trouble.js';

const joinMs = 30_000;

/** Commits offsets, back or forth, as the only member of a group for a moment. Rejects MoveRefused when the group has other members. */
export async function setOffsets(
  address: KafkaAddress,
  group: string,
  offsets: readonly (Place & { readonly offset: number; readonly metadata?: string })[],
): Promise<void> {
  const topics = [...new Set(offsets.map(({ topic }) => topic))];
  const client = newClient(address);
  const consumer = client.kafka.consumer({
    groupId: group,
    maxWaitTimeInMs: 100,
    partitionAssigners: [assigner(() => true)],
    allowAutoTopicCreation: false,
  });
  try {
    const joined = new Promise<ConsumerGroupJoinEvent>((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
    await consumer.connect();
    await consumer.subscribe({ topics, fromBeginning: true });
    await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: async (payload) => void payload.pause() });
    const event = await within(joinMs, joined);
    if (!event) throw logUnavailable('The group cannot be joined now.');
    const given = event.payload.memberAssignment;
    if (!offsets.every(({ topic, partition }) => given[topic]?.includes(partition)))
      throw new MoveRefused(`The group ${group} has members: stop all processors first, and start them afterwards.`);
    await consumer.commitOffsets(offsets.map((it) => ({ ...it, offset: String(it.offset) })));
  } finally {
    await within(joinMs, consumer.disconnect());
    client.cut();
  }
}

import { aligned } from './aligned.js';
import { command } from './command.js';
import { onDataPlane } from './data-plane.js';

export const body = command({
  about:
    'Shows the topics of the Kafka that HEADWATER_KAFKA_BROKERS names, and for each consumer group and partition the next offset and how ' +
    'many records are left. Dead letters are listed where there are any.',
  flags: { json: { about: 'print it as JSON' } },
  examples: ['headwater topics', 'headwater topics --json | jq "[.groups[].lag] | add"'],
  async run({ json }, io) {
    const { topics, groups } = await onDataPlane(({ reportTopics }, config) => reportTopics(config));
    if (json) return io.data(`${JSON.stringify({ topics, groups }, null, 2)}\n`);
    const sizes = topics.map(({ topic, partitions, cleanup, records }) => [topic, `${partitions}`, cleanup, `${records}`]);
    await io.data(aligned([['TOPIC', 'PARTITIONS', 'CLEANUP', 'RECORDS'], ...sizes]));
    const rows = groups.map(({ group, topic, partition, offset, lag }) => [group, topic, `${partition}`, `${offset}`, `${lag}`]);
    return io.data(`\n${aligned([['GROUP', 'TOPIC', 'PARTITION', 'OFFSET', 'LAG'], ...rows])}`);
  },
});

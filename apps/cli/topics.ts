import { command } from './command.js';
import { dataFlag, withLog } from './target.js';
import { aligned } from './text.js';

export const body = command({
  about:
    'Shows the topics of the Kafka that HEADWATER_KAFKA_BROKERS names or, with --data, those of a stopped server, whose whole log is read ' +
    'for it; and for each consumer group and partition the next offset and how many records are left. Dead letters are listed where there ' +
    'are any.',
  flags: { data: dataFlag, json: { about: 'print it as JSON' } },
  examples: ['headwater topics', 'headwater topics --json | jq "[.groups[].lag] | add"', 'headwater topics --data data'],
  async run({ data, json }, io) {
    const { topics, groups } = await withLog(data, (ports) => ports.groups.report());
    if (json) return io.data(`${JSON.stringify({ topics, groups }, null, 2)}\n`);
    const sizes = topics.map(({ topic, partitions, cleanup, records }) => [topic, `${partitions}`, cleanup, `${records}`]);
    await io.data(aligned([['TOPIC', 'PARTITIONS', 'CLEANUP', 'RECORDS'], ...sizes]));
    const rows = groups.map(({ group, topic, partition, offset, lag }) => [group, topic, `${partition}`, `${offset}`, `${lag}`]);
    return io.data(`\n${aligned([['GROUP', 'TOPIC', 'PARTITION', 'OFFSET', 'LAG'], ...rows])}`);
  },
});

import { command } from './command.js';
import { dataFlag, withLog } from './target.js';
import { aligned, oneLine } from './text.js';

export const body = command({
  about:
    'Shows the records of compacted topics that stand for their keys and cannot be read. An API key, an organization or a projection with ' +
    'such a record counts as deleted; a source, a connection or a gateway keeps what was known of it before.',
  flags: { data: dataFlag, json: { about: 'print it as JSON' } },
  examples: ['headwater views list', 'headwater views list --data data --json | jq -r ".records[].key"'],
  async run({ data, json }, io) {
    const records = await withLog(data, (ports, { unreadableKeys }) => unreadableKeys(ports));
    if (json) return io.data(`${JSON.stringify({ records }, null, 2)}\n`);
    if (records.length === 0) io.note('All records can be read.');
    const rows = records.map(({ topic, partition, offset, key, reason }) => [topic, `${partition}`, `${offset}`, key, reason].map(oneLine));
    return io.data(aligned([['TOPIC', 'PARTITION', 'OFFSET', 'KEY', 'REASON'], ...rows]));
  },
});

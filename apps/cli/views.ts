import { projections } from '#topics';
import { command } from './command.js';
import { dataFlag, withLog } from './target.js';
import { aligned, counted, oneLine } from './text.js';
import { readTopicName } from './dead-letter.js';
import { Failure, usage } from './failure.js';

export const list = command({
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

export const remove = command({
  about:
    'Appends a tombstone for keys whose record cannot be read, so that they are deleted for good and nothing warns of them any more. A key ' +
    'whose record can be read is left alone.',
  argument: { name: 'TOPIC', about: 'name of the compacted topic' },
  flags: {
    data: dataFlag,
    key: { value: 'KEY', about: 'the key, as `headwater views list` shows it' },
    all: { about: 'all keys of the topic whose record cannot be read' },
    json: { about: 'print what was done as JSON' },
  },
  examples: ['headwater views remove api-keys.v1 --key key_0f3a91c2d4b5e6f708192a3b', 'headwater views remove sources.v1 --all'],
  async run({ data, key, all, json }, io, name) {
    const topic = readTopicName(name);
    if ((key === undefined) !== all) throw usage('Give either --key or --all.');
    const { asked, left } = await withLog(data, async (ports, { unreadableKeys, removeKeys }) => {
      const found = (await unreadableKeys(ports)).filter((it) => it.topic === topic.name && (all || it.key === key));
      return { asked: found, left: await removeKeys(ports, found) };
    });
    if (key !== undefined && asked.length === 0) throw new Failure(`${topic.name} has no record of that key that cannot be read.`);
    const removed = asked.length - left.length;
    if (json) await io.data(`${JSON.stringify({ removed, left: left.length })}\n`);
    io.note(`Removed ${counted(removed, 'key')} of ${topic.name}.`);
    if (removed > 0 && topic.name === projections.name)
      io.note('Now run `headwater init --data-plane` and `headwater rebuild`: nothing says any more which tables readers use.');
    if (left.length > 0)
      throw new Failure(
        `${counted(left.length, 'record')} of ${topic.name} stand in a partition that their key does not belong to, or under a key that is not ` +
          'UTF-8: only a tool that chooses the partition itself, such as the producer that wrote them, can end them.',
      );
  },
});

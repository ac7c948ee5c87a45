import { topics } from '#topics';
import { command } from './command.js';
import { dataFlag, withLog } from './target.js';
import { aligned, oneLine } from './text.js';

const newestShown = 3;
const reasonLength = 120;

export const body = command({
  about:
    'Shows the topics with records that a consumer group could not use: how many dead letters there are, and the newest of them first. ' +
    'A record that several groups could not use is one dead letter of each.',
  flags: { data: dataFlag, json: { about: 'print it as JSON' } },
  examples: ['headwater dlq list', 'headwater dlq list --json | jq "[.topics[].letters] | add"', 'headwater dlq list --data data'],
  async run({ data, json }, io) {
    const all = await withLog(data, ({ deadLetters }) =>
      Promise.all(topics.map(async (topic) => ({ topic: topic.name, ...(await deadLetters.newest(topic, newestShown)) }))),
    );
    const found = all
      .filter(({ count }) => count > 0)
      .map(({ topic, count, newest }) => ({
        topic,
        letters: count,
        newest: newest.toReversed().map(({ offset, parkedMs, headers }) => ({
          offset,
          parked: new Date(parkedMs).toISOString(),
          group: headers['group'],
          reason: headers['reason'],
        })),
      }));
    if (json) return io.data(`${JSON.stringify({ topics: found }, null, 2)}\n`);
    if (found.length === 0) io.note('There are no dead letters.');
    const rows = found.flatMap(({ topic, letters, newest }) =>
      newest.map(({ offset, parked, group = '?', reason = '?' }, at) => {
        const first = at === 0 ? [topic, `${letters}`] : ['', ''];
        return [...first, `${offset}`, parked, group, reason.slice(0, reasonLength)].map((cell) => oneLine(cell));
      }),
    );
    return io.data(aligned([['TOPIC', 'LETTERS', 'OFFSET', 'PARKED', 'GROUP', 'REASON'], ...rows]));
  },
});

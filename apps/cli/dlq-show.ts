import { command } from './command.js';
import { asJson, asText, readTopicName } from './dead-letter.js';
import { usage } from './failure.js';
import { dataFlag, withLog } from './target.js';

const maxLetters = 10_000;

export const body = command({
  about:
    'Shows the newest dead letters of a topic, the newest last: where the record stood, which group could not use it and why, and its value; ' +
    'or its first bytes, where they are no value of that topic.',
  argument: { name: 'TOPIC', about: 'name of the topic that they came from, with or without .dlq' },
  flags: {
    data: dataFlag,
    limit: { value: 'N', about: `how many, up to ${maxLetters}`, default: '10' },
    json: { about: 'print them as JSON' },
  },
  examples: [
    'headwater dlq show telemetry.points.v1',
    'headwater dlq show telemetry.points.v1 --limit 1000 --json | jq -r ".letters[].reason"',
  ],
  async run({ data, limit, json }, io, name) {
    const topic = readTopicName(name);
    if (!/^\d{1,5}$/.test(limit) || Number(limit) < 1 || Number(limit) > maxLetters)
      throw usage(`--limit "${limit}" is no number from 1 to ${maxLetters}.`);
    const { newest: letters } = await withLog(data, ({ deadLetters }) => deadLetters.newest(topic, Number(limit)));
    if (json) return io.data(`${JSON.stringify({ letters: letters.map(asJson) }, null, 2)}\n`);
    if (letters.length === 0) io.note(`There are no dead letters of ${topic.name}.`);
    return io.data(letters.map((letter) => asText(letter, Date.now())).join('\n'));
  },
});

import { topics } from '#topics';
import { command } from './command.js';
import { dataFlag, withLog } from './target.js';
import { aligned, counted, oneLine } from './text.js';
import { asJson, asText, readTopicName } from './dead-letter.js';
import { Failure, readTime, usage } from './failure.js';

const newestShown = 3;
const reasonLength = 120;

export const list = command({
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

const maxLetters = 10_000;

export const show = command({
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

export const redrive = command({
  about:
    'Appends dead letters of a topic again to where they came from, as they were, for processors that can use them now, each letter once: ' +
    'the group dlq.redrive keeps the place, and a second run goes on from there. A record that several groups could not use is appended ' +
    'once; what cannot be used again is parked again, and `headwater dlq show` says how often it was. ' +
    'Mind that an appended record is the newest of its topic: a value in it wins over one that was sent later for the same point, such as ' +
    'a correction. Look at the letters first, and purge those that are out of date. ' +
    'The dead letters stay where they are. Ended in the middle, the next run sends up to 1,000 of them again.',
  argument: { name: 'TOPIC', about: 'name of the topic that they came from, with or without .dlq' },
  flags: {
    data: dataFlag,
    offset: { value: 'N', about: 'the dead letter with this offset, as `headwater dlq show` shows it' },
    all: { about: 'all dead letters that were not sent back yet' },
    json: { about: 'print what was done as JSON' },
  },
  examples: ['headwater dlq redrive telemetry.points.v1 --offset 3', 'headwater dlq redrive telemetry.points.v1 --all'],
  async run({ data, offset, all, json }, io, name) {
    const topic = readTopicName(name);
    if ((offset === undefined) !== all) throw usage('Give either --offset or --all.');
    if (offset !== undefined && !/^\d{1,15}$/.test(offset)) throw usage(`--offset "${offset}" is no offset.`);
    const only = offset === undefined ? undefined : Number(offset);
    const { redriven, left, before } = await withLog(data, ({ deadLetters }) => deadLetters.redrive(topic, only));
    if (json) await io.data(`${JSON.stringify({ redriven, left })}\n`);
    if (before)
      throw new Failure(
        `The dead letter ${offset} of ${topic.name} was sent back before.` +
          (data === undefined
            ? ` \`headwater replay --group dlq.redrive --from ${offset}\` lets redrive send it and all behind it again.`
            : ''),
      );
    io.note(`Appended ${counted(redriven, 'record')} again.`);
    if (left > 0)
      throw new Failure(`${counted(left, 'dead letter')} cannot be redriven: without a topic to go back to, or too large for it.`);
    if (only !== undefined && redriven === 0) throw new Failure(`There is no dead letter of ${topic.name} with the offset ${offset}.`);
  },
});

export const purge = command({
  about:
    'Deletes dead letters of a topic for good: all that there are now, or those that were parked before a time. Without --yes it only says ' +
    'how many that would be, and how many of them were never sent back. The topic that they came from stays as it is: a ' +
    'rebuild or verify that meets their records there may park them again.',
  argument: { name: 'TOPIC', about: 'name of the topic that they came from, with or without .dlq' },
  flags: {
    data: dataFlag,
    before: { value: 'TIME', about: 'only those that were parked before this time, in ISO 8601' },
    yes: { about: 'delete them' },
    json: { about: 'print what was done as JSON' },
  },
  examples: ['headwater dlq purge telemetry.points.v1 --before 2026-11-01T00:00Z', 'headwater dlq purge telemetry.points.v1 --yes'],
  async run({ data, before, yes, json }, io, name) {
    const topic = readTopicName(name);
    const beforeMs = readTime('--before', before);
    const { letters, waiting } = await withLog(data, ({ deadLetters }) => deadLetters.purge(topic, { beforeMs, confirmed: yes }));
    const purged = yes ? letters : 0;
    if (json) await io.data(`${JSON.stringify({ letters, waiting, purged })}\n`);
    const which = `${counted(letters, 'dead letter')} of ${topic.name}, ${waiting.toLocaleString('en')} of them never sent back`;
    if (letters === 0) io.note(`There are no such dead letters of ${topic.name}.`);
    else if (yes) io.note(`Deleted ${which}.`);
    else throw new Failure(`This would delete ${which}: say --yes to do it.`);
  },
});

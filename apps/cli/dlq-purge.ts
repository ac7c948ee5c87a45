import { isoTimeMs } from '#model';
import { command } from './command.js';
import { readTopicName } from './dead-letter.js';
import { Failure, usage } from './failure.js';
import { dataFlag, withLog } from './target.js';
import { counted } from './text.js';

export const body = command({
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
    const beforeMs = before === undefined ? undefined : isoTimeMs(before);
    if (before !== undefined && beforeMs === undefined) throw usage(`--before "${before}" is no time like 2026-11-01T00:00Z.`);
    const { letters, waiting } = await withLog(data, ({ deadLetters }) => deadLetters.purge(topic, { beforeMs, confirmed: yes }));
    const purged = yes ? letters : 0;
    if (json) await io.data(`${JSON.stringify({ letters, waiting, purged })}\n`);
    const which = `${counted(letters, 'dead letter')} of ${topic.name}, ${waiting.toLocaleString('en')} of them never sent back`;
    if (letters === 0) io.note(`There are no such dead letters of ${topic.name}.`);
    else if (yes) io.note(`Deleted ${which}.`);
    else throw new Failure(`This would delete ${which}: say --yes to do it.`);
  },
});

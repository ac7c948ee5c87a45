import { command } from './command.js';
import { readTopicName } from './dead-letter.js';
import { Failure, usage } from './failure.js';
import { dataFlag, withLog } from './target.js';
import { counted } from './text.js';

export const body = command({
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

import { command } from './command.js';
import { counted } from './counted.js';
import { onDataPlane } from './data-plane.js';
import { readTopicName } from './dead-letter.js';
import { Failure, usage } from './failure.js';

export const body = command({
  about:
    'Appends dead letters of a topic again to where they came from, as they were, for processors that can use them now. A record that ' +
    'several groups could not use is appended once, and to redrive it again changes nothing; but it counts as newer than what was appended ' +
    'since. The dead letters stay where they are.',
  argument: { name: 'TOPIC', about: 'name of the topic that they came from, with or without .dlq' },
  flags: {
    offset: { value: 'N', about: 'the dead letter with this offset, as `headwater dlq show` shows it' },
    all: { about: 'all dead letters that there are now' },
    json: { about: 'print what was done as JSON' },
  },
  examples: ['headwater dlq redrive telemetry.points.v1 --offset 3', 'headwater dlq redrive telemetry.points.v1 --all'],
  async run({ offset, all, json }, io, name) {
    const topic = readTopicName(name);
    if ((offset === undefined) !== all) throw usage('Give either --offset or --all.');
    if (offset !== undefined && !/^\d{1,15}$/.test(offset)) throw usage(`--offset "${offset}" is no offset.`);
    const only = offset === undefined ? undefined : Number(offset);
    const { redriven, left } = await onDataPlane(({ redriveDeadLetters }, config) => redriveDeadLetters(config, topic, only));
    if (json) await io.data(`${JSON.stringify({ redriven, left })}\n`);
    io.note(`Appended ${counted(redriven, 'record')} again.`);
    if (left > 0)
      throw new Failure(`${counted(left, 'dead letter')} cannot be redriven: without a topic to go back to, or too large for it.`);
    if (only !== undefined && redriven === 0) throw new Failure(`There is no dead letter of ${topic.name} with the offset ${offset}.`);
  },
});

import type { StreamedEvent, StreamedPoint } from '#client';
import { checkSourceId, parseLimit, parseMetricsList } from '#model';
import { command } from './command.js';
import { connect, connectionFlags } from './connection.js';
import { flagged } from './failure.js';
import { oneLine } from './text.js';

export const body = command({
  about:
    'Prints points as the server accepts them, or events with --logs, until it is stopped. When the connection breaks it connects again ' +
    'and goes on behind the last line it printed; what is more than an hour old by then is left out, and it says so.',
  argument: { name: 'source', about: 'the source to watch' },
  flags: {
    ...connectionFlags,
    metrics: { value: 'NAMES', about: 'only these metrics: names with commas between' },
    logs: { about: 'watch events instead of points' },
    json: { about: 'print each point or event as a line of JSON' },
    count: { value: 'N', about: 'end after so many lines, 1 to 10000' },
  },
  interactive: true,
  examples: [
    'headwater tail press-7',
    'headwater tail press-7 --metrics machine.temperature,machine.pressure',
    'headwater tail press-7 --logs --json | jq .value',
  ],
  async run({ metrics, logs, json, count, ...connection }, io, argument) {
    const sourceId = flagged('source', argument, checkSourceId);
    const names = metrics === undefined ? undefined : flagged('--metrics', metrics, (list) => parseMetricsList([list]));
    const most = count === undefined ? Infinity : flagged('--count', count, (text) => parseLimit(text, '--count'));
    const { headwater } = await connect(connection, io, 'Connecting');
    let lines = 0;
    for await (const { cursor: _, ...message } of headwater.source(sourceId).stream({ metrics: names, logs, signal: io.interrupted })) {
      const chosen = message.type === 'telemetry' ? message.points : message.type === 'event' ? [message] : [];
      const printed = chosen.slice(0, most - lines);
      if (printed.length > 0) await io.data(printed.map((entry) => `${json ? JSON.stringify(entry) : lineOf(entry)}\n`).join(''));
      lines += printed.length;
      if (lines >= most) return;
      if (message.type === 'gap') io.note(missed(message.from, message.to));
      if (message.type === 'gateway_reconnecting') io.note(`The server cannot read its log now, and tries again in ${message.delay_s} s.`);
    }
  },
});

function lineOf({ timestamp, metric, value, tags = {} }: StreamedPoint | StreamedEvent): string {
  const labels = Object.entries(tags).map(([name, label]) => ` ${name}=${label}`);
  const shown = typeof value === 'string' ? value : JSON.stringify(value);
  return oneLine(`${new Date(timestamp).toISOString()} ${metric} ${shown}${labels.join('')}`);
}

const missed = (from: number | null, to: number): string =>
  `What the server accepted ${from === null ? 'before' : `from ${new Date(from).toISOString()} to`} ${new Date(to).toISOString()} is not shown: ask for it with a query.`;

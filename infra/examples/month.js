// Writes a month of a source as CSV (RFC 4180), however much it is: page by page, and never faster than it is taken. Needs Node 20 and
// headwater-client.
//
//     HEADWATER_API_KEY=hw_... node month.js --source press-7 --metric machine.temperature --from 2014-01 --interval 1h > january.csv
//
// Without --metric all metrics, with several of them these; without --from this month, in UTC; with `--interval raw` every point.
import process from 'node:process';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { Headwater } from 'headwater-client';

const { source, metric, from, interval } = parseArgs({
  options: {
    source: { type: 'string', default: 'greenhouse' },
    metric: { type: 'string', multiple: true },
    from: { type: 'string', default: new Date().toISOString().slice(0, '2014-01'.length) },
    interval: { type: 'string', default: '1h' },
  },
}).values;
const start = new Date(from);
const end = new Date(start);
end.setUTCMonth(end.getUTCMonth() + 1);

const field = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
const line = (fields) => `${fields.map(field).join(',')}\r\n`;

async function* lines() {
  yield line(['time', 'metric', ...(interval === 'raw' ? ['value'] : ['min', 'max', 'avg', 'count'])]);
  for await (const part of new Headwater().source(source).query({ metrics: metric, start, end, interval })) {
    const columns = part.interval === 'raw' ? [part.values] : [part.min, part.max, part.avg, part.count];
    const row = (ms, at) => line([new Date(ms).toISOString(), part.metric, ...columns.map((column) => column[at])]);
    yield Array.from(part.timestamps, row).join('');
  }
}

await pipeline(lines, process.stdout);

// Draws one metric of one source: what was there first, then what comes.
import { Headwater } from './client/browser.js';

const asked = new URLSearchParams(location.search);
const source = asked.get('source') ?? 'greenhouse';
const metric = asked.get('metric') ?? 'air.temperature';
const minutes = Number(asked.get('minutes') ?? 5);
const spanMs = minutes * 60_000;
/** Points are drawn up to this number: more than a screen can show. */
const most = 5_000;

const at = (id) => document.getElementById(id);
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', ...(minutes > 1440 && { dateStyle: 'short' }) });
const number = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 6 });
/** Values by time, so that a point that comes twice is there once. */
let points = new Map();

const device = new Headwater({
  // The server of this page passes on what is read, and knows the key.
  url: location.origin,
  patienceMs: Infinity,
  onRetry: ({ message }) => say(`Interrupted: ${message}`),
}).source(source);

/** Screen readers tell every change. */
function say(text) {
  if (at('state').textContent !== text) at('state').textContent = text;
}

async function addHistory() {
  for await (const { timestamps, values, avg } of device.query({ metrics: [metric], start: Date.now() - spanMs })) {
    for (const [row, ms] of timestamps.entries()) points.set(ms, (values ?? avg)[row]);
  }
}

async function follow() {
  let hasBegun = false;
  for await (const message of device.stream({ metrics: [metric] })) {
    // History is asked for once the stream has begun, so that the two meet. Behind a gap it has what the stream lacks.
    if (!hasBegun || message.type === 'gap') await addHistory();
    hasBegun = true;
    if (message.type === 'telemetry') for (const { timestamp, value } of message.points) points.set(timestamp, value);
    say(message.type === 'gateway_reconnecting' ? 'Interrupted: the server cannot read its log now.' : 'Live');
  }
}

/** Round numbers from below the low value to above the high one, about four steps of them. */
function ticksOf(low, high) {
  const rough = (high - low || Math.abs(high) || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((times) => times * power >= rough);
  const first = Math.floor(low / step);
  const last = Math.max(Math.ceil(high / step), first + 1);
  return Array.from({ length: last - first + 1 }, (_, n) => (first + n) * step);
}

function draw() {
  const endMs = Date.now();
  const startMs = endMs - spanMs;
  for (const [n, label] of [...at('times').children].entries()) label.textContent = clock.format(startMs + (n * spanMs) / 2);
  const shown = [...points].filter(([ms]) => ms >= startMs).sort(([a], [b]) => a - b);
  points = new Map(shown.slice(-most));
  const values = [...points.values()];
  const ticks = values.length > 0 ? ticksOf(Math.min(...values), Math.max(...values)) : [0, 1];
  const x = (ms) => (100 * (ms - startMs)) / spanMs;
  const y = (value) => (100 * (ticks.at(-1) - value)) / (ticks.at(-1) - ticks[0]);
  at('line').setAttribute('points', Array.from(points, ([ms, value]) => `${x(ms)},${y(value)}`).join(' '));
  at('grid').setAttribute('d', ticks.map((tick) => `M0 ${y(tick)}H100`).join(''));
  at('values').replaceChildren(...ticks.map((tick) => labelAt(y(tick), number.format(tick))));
  at('newest').textContent = values.length > 0 ? number.format(values.at(-1)) : 'No points';
}

function labelAt(percent, text) {
  const label = document.createElement('span');
  label.style.top = `${percent}%`;
  label.textContent = text;
  return label;
}

document.title = document.querySelector('h1').textContent = `${metric} of ${source}`;
document.querySelector('svg').setAttribute('aria-label', `${metric} of ${source}, the last ${minutes} minutes`);
// Not more often, however much comes. Old points go here too.
setInterval(draw, 250);
follow().catch(({ message }) => say(`Not live: ${message}`));

import { Device, Headwater } from 'headwater-client';

// What a test tells a client to do. It uses the library and what the web's standards have, and nothing else.
let server;
let headwater;
let beginMs;
let next;
let turns = 0;
let endTurn;
let acknowledged = 0;
let retries = 0;
const devices = [];
const refused = [];
// A busy Kafka may be silent for some seconds: the stream then says that it waits, and loses nothing.
const expected = ['telemetry', 'cursor', 'gateway_reconnecting'];
const streamed = [];
let reading;
const ending = new AbortController();

const clock = () => beginMs + next;

export const verbs = {
  /** @param first number that is handed over; its time is `beginMs`, and each next one is a millisecond later. */
  begin({ url, apiKey, first = 0, ...at }) {
    server = { url, apiKey };
    headwater = new Headwater({ ...server, onRetry: () => retries++ });
    ({ beginMs } = at);
    next = first;
  },

  /** Makes a device whose command `turn` is under way until it is told to end. */
  async open({ sourceId, folder, connects = false }) {
    const device = new Device({
      ...server,
      sourceId,
      clock,
      ...(folder && { buffer: { folder } }),
      batch: { everyMs: 20 },
      retry: { firstMs: 5, maxMs: 100, slowMs: 50 },
      onRefused: ({ name, value, error }) => refused.push({ sourceId, name, value, code: error.code }),
    });
    device.command('turn', ({ by }, { progress }) => {
      turns++;
      progress(0.5);
      return new Promise((resolve) => {
        endTurn = () => resolve({ by });
      });
    });
    devices.push(device);
    if (connects) await device.connect();
  },

  /** So many numbers, each with two events that are equal to all others. Returns the last number. */
  handOver(count) {
    for (const end = next + count; next < end; next++)
      for (const device of devices) {
        device.metric('number', next);
        device.event('tick', 'same');
        device.event('tick', 'same');
      }
    return next - 1;
  },

  /** A number that the server does not take. */
  handOverBad() {
    for (const device of devices) device.metric('bad\0', next);
  },

  flush: () => Promise.all(devices.map((device) => device.flush())),

  async close() {
    // A connection must end with its signal even where nothing else holds that.
    globalThis.gc?.();
    ending.abort();
    await reading;
    await Promise.all(devices.map((device) => device.close()));
  },

  stats: () =>
    devices.map(({ stats: { handedOver, stored, refused: bad, dropped, buffered } }) => ({ handedOver, stored, bad, dropped, buffered })),

  refused: () => refused,

  turn: ({ sourceId, by }) => headwater.source(sourceId).command('turn', { by }, { wait: true, onAcknowledged: () => acknowledged++ }),

  acknowledged: () => acknowledged,

  turns: () => turns,

  endTurn: () => endTurn(),

  /** Reads numbers from now on, and resolves once that has begun. */
  async stream(sourceId) {
    const messages = headwater.source(sourceId).stream({ metrics: ['number'], signal: ending.signal });
    streamed.push((await messages.next()).value);
    reading = (async () => {
      for await (const message of messages) streamed.push(message);
    })().catch((error) => streamed.push({ type: String(error) }));
  },

  streamed: () => ({
    numbers: streamed.flatMap(({ points = [] }) => points.map(({ value }) => value)),
    others: streamed.map(({ type }) => type).filter((type) => !expected.includes(type)),
    retries,
  }),

  /** What is stored. */
  async read(sourceId) {
    const source = headwater.source(sourceId);
    const [times, numbers] = [[], []];
    for await (const { timestamps, values } of source.query({ metrics: ['number'], interval: 'raw', last: '1h' })) {
      times.push(...timestamps);
      numbers.push(...values);
    }
    const ticks = await source.logs({ name: 'tick', last: '1h', limit: 10_000 });
    const outcomes = await source.logs({ name: 'command.result', tail: 100 });
    return {
      numbers,
      misplaced: numbers.filter((number, at) => times[at] !== beginMs + number),
      latest: (await source.latest()).number,
      ticks: ticks.length,
      outcomes: outcomes.map(({ value }) => JSON.parse(value)).map(({ event, result }) => ({ event, result })),
    };
  },
};

import { setTimeout as sleep } from 'node:timers/promises';
import { checkSourceId, formatMetricsList, parseLimit, parseMetricsList } from '#model';
import { Api, ApiFailure } from './api.js';
import { command } from './command.js';
import { connectionFlags, findConnection } from './connection.js';
import { eventsOf } from './event-stream.js';
import { Failure, flagged } from './failure.js';
import type { Io } from './io.js';
import { oneLine } from './text.js';

const pauseMs = { first: 500, max: 30_000 };
const busyStatuses: readonly number[] = [429, 502, 503, 504];
/** The server says something every 30 seconds. */
const silenceMs = 75_000;
const unauthorized = 4401;

interface StreamItem {
  readonly metric: string;
  readonly value: unknown;
  readonly timestamp: number;
  readonly tags?: Readonly<Record<string, string>>;
}

type Message =
  | { readonly type: 'telemetry'; readonly points: readonly StreamItem[] }
  | ({ readonly type: 'event' } & StreamItem)
  | { readonly type: 'gap'; readonly from: number | null; readonly to: number }
  | { readonly type: 'gateway_reconnecting'; readonly delay_s: number };

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
    const filter = names && !logs ? `?metrics=${encodeURIComponent(formatMetricsList(names) ?? '')}` : '';
    const path = `/v1/sources/${encodeURIComponent(sourceId)}/${logs ? 'logs' : 'metrics'}/stream${filter}`;
    const tail = new Tail(new Api(await findConnection(connection)), path, io);
    let lines = 0;
    for await (const message of tail.messages()) {
      const entries = message.type === 'telemetry' ? message.points : message.type === 'event' ? [message] : [];
      const chosen = logs && names ? entries.filter(({ metric }) => names.includes(metric)) : entries;
      const printed = chosen.slice(0, most - lines);
      if (printed.length > 0) await io.data(printed.map((entry) => `${json ? JSON.stringify(entry) : lineOf(entry)}\n`).join(''));
      lines += printed.length;
      if (lines >= most) return;
      if (message.type === 'gap') io.note(missed(message.from, message.to));
      if (message.type === 'gateway_reconnecting') io.note(`The server cannot read its log now, and tries again in ${message.delay_s} s.`);
    }
  },
});

/** One stream, over as many connections as it takes. */
class Tail {
  #cursor: string | undefined;
  #hasAnswered = false;

  constructor(
    private readonly api: Api,
    private readonly path: string,
    private readonly io: Io,
  ) {}

  async *messages(): AsyncGenerator<Message> {
    const { interrupted } = this.io;
    for (let ms = pauseMs.first; ; ms = Math.min(2 * ms, pauseMs.max)) {
      try {
        for await (const message of this.#connection()) {
          ms = pauseMs.first;
          yield message;
        }
      } catch (error) {
        interrupted.throwIfAborted();
        const waitMs = this.#waitMs(error, ms);
        if (waitMs === undefined) throw error;
        this.io.note(
          `${error instanceof Error ? error.message : 'The connection broke.'} Connecting again in ${(waitMs / 1000).toFixed(1)} s.`,
        );
        await sleep(waitMs, undefined, { signal: interrupted }).catch(() => interrupted.throwIfAborted());
      }
    }
  }

  async *#connection(): AsyncGenerator<Message> {
    const silent = new AbortController();
    const timer = setTimeout(() => silent.abort(new ApiFailure('The server is silent.', undefined, undefined)), silenceMs);
    try {
      const headers = { accept: 'text/event-stream', ...(this.#cursor !== undefined && { 'last-event-id': this.#cursor }) };
      const response = await this.api.open(this.path, { headers, signal: AbortSignal.any([silent.signal, this.io.interrupted]) });
      this.#hasAnswered = true;
      for await (const { id, name, data } of eventsOf(response.body!)) {
        timer.refresh();
        if (name === 'close') throw closed(data);
        if (data !== undefined) yield JSON.parse(data) as Message;
        this.#cursor = id ?? this.#cursor;
      }
      throw new ApiFailure('The connection ended.', undefined, undefined);
    } finally {
      clearTimeout(timer);
      silent.abort();
    }
  }

  /** How long to wait before the next connection; undefined when none can help. */
  #waitMs(error: unknown, ms: number): number | undefined {
    if (error instanceof ApiFailure && error.status !== undefined && !busyStatuses.includes(error.status)) return undefined;
    if (error instanceof Failure && !(error instanceof ApiFailure)) return undefined;
    if (!this.#hasAnswered && !(error instanceof ApiFailure && error.status !== undefined)) return undefined;
    return (error instanceof ApiFailure ? error.retryAfterMs : undefined) ?? ms * (0.5 + Math.random() / 2);
  }
}

function closed(data = '{}'): Failure {
  const { code, reason = 'The server ended the stream.' } = JSON.parse(data) as { code?: number; reason?: string };
  return code === unauthorized ? new Failure(reason) : new ApiFailure(reason, undefined, undefined);
}

function lineOf({ timestamp, metric, value, tags = {} }: StreamItem): string {
  const labels = Object.entries(tags).map(([name, label]) => ` ${name}=${label}`);
  const shown = typeof value === 'string' ? value : JSON.stringify(value);
  return oneLine(`${new Date(timestamp).toISOString()} ${metric} ${shown}${labels.join('')}`);
}

const missed = (from: number | null, to: number): string =>
  `What the server accepted ${from === null ? 'before' : `from ${new Date(from).toISOString()} to`} ${new Date(to).toISOString()} is not shown: ask for it with a query.`;

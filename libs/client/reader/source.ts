import type { Access, Asked } from './access.js';
import { type CommandOptions, type Ended, sendCommand } from './command.js';
import { type ColumnsOf, filterOf, listOf, pagesOf, type Query } from './pages.js';
import { segment } from './segment.js';
import { follow, type StreamOptions } from './stream.js';
import type { Interval, LogEntry, RawSeries, SourceState, StreamMessage } from './types.js';
import { asked, type Window } from './window.js';

export interface LogsQuery extends Window, Asked {
  /** Only events of this name. */
  readonly name?: string | undefined;
  /** The first so many of the window, 1 to 10000: 1000 unless it is given. */
  readonly limit?: number | undefined;
  /** The last so many of all time, oldest first, whatever the window and the limit. */
  readonly tail?: number | undefined;
}

export interface SourceStream extends StreamOptions {
  /** Only these. */
  readonly metrics?: readonly string[] | undefined;
  /** Events in place of points. */
  readonly logs?: boolean | undefined;
}

/** Series by metric; one without points in the window is absent. */
export interface RawAnswer {
  readonly series: Readonly<Record<string, RawSeries>>;
  readonly truncated: boolean;
}

/** What one device has sent, and a way to it. All of it rejects `HeadwaterError`, or the reason of the signal that it is given. */
export type Source = ReturnType<typeof sourceOf>;

/** @throws HeadwaterError for what cannot be an id. */
export function sourceOf(access: Access, id: string) {
  const { get } = access;
  const path = `/v1/sources/${segment(id)}`;

  /** As `query`, with all metrics of a span of time at once: each page is of later times than the one before. */
  const pages = <const I extends Interval | undefined = undefined>(query: Query<I> = {}): AsyncGenerator<readonly ColumnsOf<I>[], void> =>
    pagesOf(access, path, query) as AsyncGenerator<readonly ColumnsOf<I>[], void>;

  return {
    id,
    pages,

    get: (options?: Asked): Promise<SourceState> => get(path, {}, options),

    /**
     * One answer of the server: the first 10,000 points of a window with their tags, and whether there are more (`truncated`). Where the name of a metric
     * begins or ends with a blank, or ends with a backslash, it is of all metrics.
     */
    points: ({ metrics, signal, ...window }: Omit<Query, 'interval'> = {}): Promise<RawAnswer> =>
      get(`${path}/metrics/query`, { ...asked(window), interval: 'raw', tags: 1, metrics: listOf(metrics) }, { signal }),

    /** Names of its metrics, by name. */
    metrics: (options?: Asked): Promise<readonly string[]> => get(`${path}/metrics`, {}, options),

    /** The newest value of each metric that has one from the last hour. */
    latest: async (options?: Asked): Promise<Readonly<Record<string, number>>> =>
      (await get<{ readonly metrics: Readonly<Record<string, number>> }>(`${path}/metrics/latest`, {}, options)).metrics,

    /** Events of a window, or the newest ones. */
    logs(query: LogsQuery = {}): Promise<readonly LogEntry[]> {
      const { name, limit, tail } = query;
      return get(`${path}/logs`, { ...asked(query), name, limit, tail }, query);
    },

    /**
     * Everything of a window, however much it is: columns of one metric at a time, those of a metric in the order of time. A window up to now
     * ends with the clock of this machine.
     */
    async *query<const I extends Interval | undefined = undefined>(query: Query<I> = {}): AsyncGenerator<ColumnsOf<I>, void> {
      for await (const page of pages(query)) yield* page;
    },

    /**
     * Points or events as the server accepts them, until the loop is left or the signal ends it. A connection that breaks is made again, and
     * goes on behind the last message; what cannot be had any more is said by a message of type `gap`.
     */
    async *stream({ metrics = [], logs = false, ...options }: SourceStream = {}): AsyncGenerator<StreamMessage, void> {
      const isWanted = filterOf(metrics);
      const [kind, parameters] = logs ? ['logs', {}] : ['metrics', { metrics: listOf(metrics) }];
      for await (const message of follow(access, `${path}/${kind}/stream`, parameters, options)) {
        if (message.type === 'telemetry') yield { ...message, points: message.points.filter(({ metric }) => isWanted(metric)) };
        else if (message.type !== 'event' || isWanted(message.metric)) yield message;
      }
    },

    /**
     * Hands the command to the device, which gets it once, on its newest connection, or never. With `wait` it resolves with the result, and
     * rejects with `command_failed`, `not_delivered` or `no_outcome` when there is none. It is never sent again by itself.
     */
    command: (command: string, params: object = {}, options: CommandOptions = {}): Promise<Ended> =>
      sendCommand(access, path, { command, params }, options),
  };
}

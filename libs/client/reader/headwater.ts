import { type FindServer, serverOf } from '../settings.js';
import { type Access, accessTo, type Asked, type ReaderOptions } from './access.js';
import { segment } from './segment.js';
import { type Source, sourceOf } from './source.js';
import type {
  Alert,
  ApiKey,
  Backtest,
  CreatedApiKey,
  DefinedMonitor,
  FleetHealth,
  FleetMetrics,
  Monitor,
  MonitorPatch,
  NewApiKey,
  NewBacktest,
  NewMonitor,
  RollupInterval,
  SourceState,
  VerifiedKey,
} from './types.js';
import { asked, textOf, type Time, type Window } from './window.js';

/** The most that a list answers at once. */
const pageSize = 10_000;

/** A server to read from. Nothing is asked of it before the first call, and no connection stays open between calls of ours. */
export class BaseHeadwater {
  readonly fleet: Fleet;
  readonly monitors: Monitors;
  readonly alerts: Alerts;
  readonly keys: Keys;
  readonly #access: Access;

  constructor(options: ReaderOptions = {}, find: FindServer = serverOf) {
    const access = (this.#access = accessTo(options, find));
    this.fleet = fleetOf(access);
    this.monitors = monitorsOf(access);
    this.alerts = alertsOf(access);
    this.keys = keysOf(access);
  }

  /** Every device that has a history or a connection, by source_id; or the first `limit` of them behind the source_id `after`. */
  async sources({ signal, ...which }: SourcesQuery = {}): Promise<readonly SourceState[]> {
    return (await this.#access.get<{ readonly devices: readonly SourceState[] }>('/v1/sources', which, { signal })).devices;
  }

  /**
   * Stores points, at most 10,000 of them and 5 MiB at once: an object as `POST /ingest` takes it, or its JSON, plain or as the bytes of a
   * gzip. Each has to carry its time: then sending it again changes nothing, which happens where the server is busy or away. For what comes
   * little by little there is `Device`.
   */
  async ingest(body: object | string | Uint8Array<ArrayBuffer>, { signal }: Asked = {}): Promise<void> {
    const sent = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
    await this.#access.repeat('/ingest', { method: 'POST', body: sent, signal });
  }

  /** @throws HeadwaterError for what cannot be an id. */
  source(id: string): Source {
    return sourceOf(this.#access, id);
  }
}

export interface SourcesQuery extends Asked {
  readonly status?: 'online' | 'offline' | undefined;
  readonly after?: string | undefined;
  /** 1 to 10000. */
  readonly limit?: number | undefined;
}

/** All devices of the organization. */
export type Fleet = ReturnType<typeof fleetOf>;

const fleetOf = ({ get }: Access) => ({
  health: (options?: Asked): Promise<FleetHealth> => get('/v1/fleet/health', {}, options),

  /** One metric of every device, in buckets. Without `interval`: the one that gives nearest to 1,000 of them. */
  metrics: (options: Window & Asked & { readonly metric: string; readonly interval?: RollupInterval | undefined }): Promise<FleetMetrics> =>
    get('/v1/fleet/metrics', { metric: options.metric, interval: options.interval, ...asked(options) }, options),
});

/** Conditions that alerts are made of. */
export interface Monitors {
  /** All of them, by id. */
  list(options?: Asked & { readonly sourceId?: string | undefined }): Promise<readonly Monitor[]>;
  /** Makes one, or gives this definition to the monitor of the same source and metric. */
  create(monitor: NewMonitor, options?: Asked): Promise<DefinedMonitor>;
  get(id: string, options?: Asked): Promise<Monitor>;
  change(id: string, patch: MonitorPatch, options?: Asked): Promise<Monitor>;
  delete(id: string, options?: Asked): Promise<void>;
  /** What a monitor would have done in a window of the past. */
  backtest(monitor: Omit<NewBacktest, keyof Window> & Window, options?: Asked): Promise<Backtest>;
}

const monitorsOf = (access: Access): Monitors => ({
  ...callsOf<Omit<Monitors, 'list'>>(access, '/api/monitors', {
    create: ['POST', '', asGiven],
    get: ['GET', '/{id}'],
    change: ['PATCH', '/{id}', asGiven],
    delete: ['DELETE', '/{id}'],
    backtest: ['POST', '/backtest', (monitor: Window) => ({ ...monitor, ...asked(monitor) })],
  }),
  async list({ sourceId, signal } = {}) {
    const all: Monitor[] = [];
    for (let isMore = true; isMore;) {
      const page = { source_id: sourceId, after: all.at(-1)?.id, limit: pageSize };
      const found = await access.get<{ readonly monitors: readonly Monitor[]; readonly truncated: boolean }>('/api/monitors', page, {
        signal,
      });
      all.push(...found.monitors);
      isMore = found.truncated;
    }
    return all;
  },
});

/** What monitors have found. */
export interface Alerts {
  /** Those that are open and, of each device, the last 20 that have resolved; newest change first. */
  list(options?: AlertsQuery): AsyncGenerator<Alert, void>;
  /** Says that somebody has seen it. */
  acknowledge(id: string, options?: Asked): Promise<Alert>;
  /** Tells nobody of it, nor of the next ones of its condition, until then: at most 30 days ahead. A time that is over ends the silence. */
  silence(id: string, until: Date | number, options?: Asked): Promise<Alert>;
}

interface AlertsQuery extends Asked {
  readonly status?: 'open' | 'resolved' | undefined;
  readonly sourceId?: string | undefined;
  readonly since?: Time | undefined;
}

const alertsOf = (access: Access): Alerts => ({
  ...callsOf<Omit<Alerts, 'list'>>(access, '/api/alerts', {
    acknowledge: ['POST', '/{id}/acknowledge'],
    silence: ['POST', '/{id}/silence', (until: Date | number) => ({ until_ms: Number(until) })],
  }),
  async *list({ sourceId, since, status, signal } = {}) {
    const wanted = { status, source_id: sourceId, since: textOf(since) };
    for (let after: string | null | undefined; after !== null;) {
      const page: { readonly alerts: readonly Alert[]; readonly next: string | null } = await access.get(
        '/api/alerts',
        { ...wanted, after },
        { signal },
      );
      yield* page.alerts;
      after = page.next;
    }
  },
});

/** API keys of the organization. Needs a key with the scope `admin`, but for `verify`. */
export interface Keys {
  list(options?: Asked): Promise<readonly ApiKey[]>;
  /** The answer has the key itself, once. */
  create(key: NewApiKey, options?: Asked): Promise<CreatedApiKey>;
  delete(id: string, options?: Asked): Promise<void>;
  /** What the key of this reader may do. */
  verify(options?: Asked): Promise<VerifiedKey>;
}

const keysOf = (access: Access): Keys =>
  callsOf<Keys>(access, '/api', {
    list: ['GET', '/api-keys'],
    create: ['POST', '/api-keys', asGiven],
    delete: ['DELETE', '/api-keys/{id}'],
    verify: ['GET', '/auth/verify-key'],
  });

/** What a call asks for. It takes the id that its path has, what its body is made of if it has one, and options. */
type Route = readonly [method: string, path: string, bodyOf?: (given: never) => object];

function callsOf<T>({ get, send }: Access, base: string, routes: { readonly [name in keyof T]: Route }): T {
  const calls = Object.entries<Route>(routes).map(([name, [method, path, bodyOf]]) => [
    name,
    async (...given: never[]) => {
      const whole = base + path.replace('{id}', () => segment(given.shift()!));
      const body = bodyOf?.(given.shift()!);
      return method === 'GET' ? get(whole, {}, given[0]) : send(method, whole, body, given[0]);
    },
  ]);
  return Object.fromEntries(calls) as T;
}

const asGiven = (body: object): object => body;

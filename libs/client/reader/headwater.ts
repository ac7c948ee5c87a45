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

  /** Every device that has a history or a connection, by source_id. */
  async sources(options: Asked & { readonly status?: 'online' | 'offline' | undefined } = {}): Promise<readonly SourceState[]> {
    const { status } = options;
    return (await this.#access.get<{ readonly devices: readonly SourceState[] }>('/v1/sources', { status }, options)).devices;
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

/** All devices of the organization. */
export type Fleet = ReturnType<typeof fleetOf>;

const fleetOf = ({ get }: Access) => ({
  health: (options?: Asked): Promise<FleetHealth> => get('/v1/fleet/health', {}, options),

  /** One metric of every device, in buckets. */
  metrics: (options: Window & Asked & { readonly metric: string }): Promise<FleetMetrics> =>
    get('/v1/fleet/metrics', { metric: options.metric, ...asked(options) }, options),
});

/** Conditions that alerts are made of. */
export type Monitors = ReturnType<typeof monitorsOf>;

const monitorsOf = ({ get, send }: Access) => ({
  /** All of them, by id. */
  async list(options: Asked & { readonly sourceId?: string | undefined } = {}): Promise<readonly Monitor[]> {
    const all: Monitor[] = [];
    for (;;) {
      const page = { source_id: options.sourceId, after: all.at(-1)?.id, limit: pageSize };
      const { monitors, truncated } = await get<{ readonly monitors: readonly Monitor[]; readonly truncated: boolean }>(
        '/api/monitors',
        page,
        options,
      );
      all.push(...monitors);
      if (!truncated || monitors.length === 0) return all;
    }
  },

  /** Makes one, or gives this definition to the monitor of the same source and metric. */
  create: (monitor: NewMonitor, options?: Asked): Promise<DefinedMonitor> => send('POST', '/api/monitors', monitor, options),

  get: async (id: string, options?: Asked): Promise<Monitor> => get(monitorPath(id), {}, options),

  change: async (id: string, patch: MonitorPatch, options?: Asked): Promise<Monitor> => send('PATCH', monitorPath(id), patch, options),

  delete: async (id: string, options?: Asked): Promise<void> => void (await send('DELETE', monitorPath(id), undefined, options)),

  /** What a monitor would have done in a window of the past. */
  backtest: async ({ last, start, end, ...monitor }: Omit<NewBacktest, keyof Window> & Window, options?: Asked): Promise<Backtest> =>
    send('POST', '/api/monitors/backtest', { ...monitor, ...asked({ last, start, end }) }, options),
});

const monitorPath = (id: string): string => `/api/monitors/${segment(id)}`;

/** What monitors have found. */
export type Alerts = ReturnType<typeof alertsOf>;

const alertsOf = ({ get, send }: Access) => ({
  /** Those that are open and, of each device, the last 20 that have resolved; newest change first. */
  async *list({
    sourceId,
    since,
    status,
    signal,
  }: Asked & {
    readonly status?: 'open' | 'resolved' | undefined;
    readonly sourceId?: string | undefined;
    readonly since?: Time | undefined;
  } = {}): AsyncGenerator<Alert, void> {
    const wanted = { status, source_id: sourceId, since: since === undefined ? undefined : textOf(since, Date.now()) };
    for (let after: string | null | undefined; after !== null;) {
      const page = { ...wanted, after };
      const { alerts, next }: { readonly alerts: readonly Alert[]; readonly next: string | null } = await get('/api/alerts', page, {
        signal,
      });
      yield* alerts;
      after = next;
    }
  },

  /** Says that somebody has seen it. */
  acknowledge: async (id: string, options?: Asked): Promise<Alert> =>
    send('POST', `/api/alerts/${segment(id)}/acknowledge`, undefined, options),

  /** Tells nobody of it, nor of the next ones of its condition, until then: at most 30 days ahead. A time that is over ends the silence. */
  silence: async (id: string, until: Date | number, options?: Asked): Promise<Alert> =>
    send('POST', `/api/alerts/${segment(id)}/silence`, { until_ms: Number(until) }, options),
});

/** API keys of the organization. Needs a key with the scope `admin`, but for `verify`. */
export type Keys = ReturnType<typeof keysOf>;

const keysOf = ({ get, send }: Access) => ({
  list: (options?: Asked): Promise<readonly ApiKey[]> => get('/api/api-keys', {}, options),

  /** The answer has the key itself, once. */
  create: (key: NewApiKey, options?: Asked): Promise<CreatedApiKey> => send('POST', '/api/api-keys', key, options),

  delete: async (id: string, options?: Asked): Promise<void> =>
    void (await send('DELETE', `/api/api-keys/${segment(id)}`, undefined, options)),

  /** What the key of this reader may do. */
  verify: (options?: Asked): Promise<VerifiedKey> => get('/api/auth/verify-key', {}, options),
});

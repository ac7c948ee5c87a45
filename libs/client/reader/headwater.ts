import type { ReadStored } from '../settings.js';
import { Access, type Asked, type ReaderOptions } from './access.js';
import { segment } from './segment.js';
import { Source } from './source.js';
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

  constructor(options: ReaderOptions, read: ReadStored) {
    this.#access = new Access(options, read);
    this.fleet = new Fleet(this.#access);
    this.monitors = new Monitors(this.#access);
    this.alerts = new Alerts(this.#access);
    this.keys = new Keys(this.#access);
  }

  /** Every device that has a history or a connection, by source_id. */
  async sources({ status, signal }: Asked & { readonly status?: 'online' | 'offline' | undefined } = {}): Promise<readonly SourceState[]> {
    const answer = await this.#access.get<{ readonly devices: readonly SourceState[] }>('/v1/sources', { status }, { signal });
    return answer.devices;
  }

  /**
   * Stores points, at most 10,000 of them and 5 MiB at once: an object as `POST /ingest` takes it, or its JSON, plain or as the bytes of a
   * gzip. Each has to carry its time: then sending it again changes nothing, which happens where the server is busy or away. For what comes
   * little by little there is `Device`.
   */
  async ingest(body: object | string | Uint8Array<ArrayBuffer>, { signal }: Asked = {}): Promise<void> {
    const isZipped = body instanceof Uint8Array;
    const sent = isZipped || typeof body === 'string' ? body : JSON.stringify(body);
    const headers: Record<string, string> = isZipped ? { 'content-encoding': 'gzip' } : {};
    await this.#access.repeat('/ingest', { method: 'POST', body: sent, headers, signal });
  }

  /** @throws HeadwaterError for what cannot be an id. */
  source(id: string): Source {
    return new Source(this.#access, id);
  }
}

/** All devices of the organization. */
export class Fleet {
  constructor(private readonly access: Access) {}

  health(options?: Asked): Promise<FleetHealth> {
    return this.access.get('/v1/fleet/health', {}, options);
  }

  /** One metric of every device, in buckets. */
  metrics({ metric, signal, ...window }: Window & Asked & { readonly metric: string }): Promise<FleetMetrics> {
    return this.access.get('/v1/fleet/metrics', { metric, ...asked(window) }, { signal });
  }
}

/** Conditions that alerts are made of. */
export class Monitors {
  constructor(private readonly access: Access) {}

  /** All of them, by id. */
  async list({ sourceId, signal }: Asked & { readonly sourceId?: string | undefined } = {}): Promise<readonly Monitor[]> {
    const all: Monitor[] = [];
    for (;;) {
      const page = { source_id: sourceId, after: all.at(-1)?.id, limit: pageSize };
      const answer = await this.access.get<{ readonly monitors: readonly Monitor[]; readonly truncated: boolean }>('/api/monitors', page, {
        signal,
      });
      all.push(...answer.monitors);
      if (!answer.truncated || answer.monitors.length === 0) return all;
    }
  }

  /** Makes one, or gives this definition to the monitor of the same source and metric. */
  create(monitor: NewMonitor, options?: Asked): Promise<DefinedMonitor> {
    return this.access.send('POST', '/api/monitors', monitor, options);
  }

  async get(id: string, options?: Asked): Promise<Monitor> {
    return this.access.get(`/api/monitors/${segment(id)}`, {}, options);
  }

  async change(id: string, patch: MonitorPatch, options?: Asked): Promise<Monitor> {
    return this.access.send('PATCH', `/api/monitors/${segment(id)}`, patch, options);
  }

  async delete(id: string, options?: Asked): Promise<void> {
    await this.access.send('DELETE', `/api/monitors/${segment(id)}`, undefined, options);
  }

  /** What a monitor would have done in a window of the past. */
  async backtest({ last, start, end, ...monitor }: Omit<NewBacktest, keyof Window> & Window, options?: Asked): Promise<Backtest> {
    return this.access.send('POST', '/api/monitors/backtest', { ...monitor, ...asked({ last, start, end }) }, options);
  }
}

/** What monitors have found. */
export class Alerts {
  constructor(private readonly access: Access) {}

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
    for (let after: string | undefined; ;) {
      const answer = await this.access.get<{ readonly alerts: readonly Alert[]; readonly next: string | null }>(
        '/api/alerts',
        { ...wanted, after },
        { signal },
      );
      yield* answer.alerts;
      if (answer.next === null) return;
      after = answer.next;
    }
  }

  /** Says that somebody has seen it. */
  async acknowledge(id: string, options?: Asked): Promise<Alert> {
    return this.access.send('POST', `/api/alerts/${segment(id)}/acknowledge`, undefined, options);
  }

  /** Tells nobody of it, nor of the next ones of its condition, until then: at most 30 days ahead. A time that is over ends the silence. */
  async silence(id: string, until: Date | number, options?: Asked): Promise<Alert> {
    return this.access.send('POST', `/api/alerts/${segment(id)}/silence`, { until_ms: Number(until) }, options);
  }
}

/** API keys of the organization. Needs a key with the scope `admin`, but for `verify`. */
export class Keys {
  constructor(private readonly access: Access) {}

  list(options?: Asked): Promise<readonly ApiKey[]> {
    return this.access.get('/api/api-keys', {}, options);
  }

  /** The answer has the key itself, once. */
  create(key: NewApiKey, options?: Asked): Promise<CreatedApiKey> {
    return this.access.send('POST', '/api/api-keys', key, options);
  }

  async delete(id: string, options?: Asked): Promise<void> {
    await this.access.send('DELETE', `/api/api-keys/${segment(id)}`, undefined, options);
  }

  /** What the key of this reader may do. */
  verify(options?: Asked): Promise<VerifiedKey> {
    return this.access.get('/api/auth/verify-key', {}, options);
  }
}

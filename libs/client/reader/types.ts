/** What the server answers and takes, with the names that its document, `/openapi.json`, has for them. */

export type RollupInterval = '1m' | '10m' | '1h' | '1d';
export type Interval = 'raw' | RollupInterval;
export type Severity = 'info' | 'warning' | 'critical';
export type Scope = 'read' | 'write' | 'admin';
type Tags = Readonly<Record<string, string>>;

export interface SourceState {
  readonly source_id: string;
  /** Whether the device has a connection. */
  readonly online: boolean;
  /** When the server last received something of the device, Unix milliseconds; null when it never did. May lag by five seconds. */
  readonly last_seen_ms: number | null;
}

/** An event. */
export interface LogEntry {
  /** Unix milliseconds. */
  readonly timestamp_ms: number;
  /** Name of the event. */
  readonly metric: string;
  /** A string as it was sent; anything else as the JSON that was sent, without its blanks. */
  readonly value: string;
  readonly tags: Tags;
}

/** Points in the order of time. Points that differ in tags only stand one after the other with the same time. */
export interface RawSeries {
  /** Unix milliseconds. The other arrays are parallel to it. */
  readonly timestamp_ms: readonly number[];
  readonly value: readonly number[];
  /** Of each point, where they were asked for. */
  readonly tags?: readonly Tags[];
}

/** Buckets aligned to UTC, over all points of the metric whatever their tags; one without points is absent. */
export interface AggregatedSeries {
  /** Starts of the buckets, Unix milliseconds, ascending. The other arrays are parallel to it. */
  readonly timestamp_ms: readonly number[];
  readonly min: readonly number[];
  readonly max: readonly number[];
  /** Sum divided by count. */
  readonly avg: readonly number[];
  readonly count: readonly number[];
}

/** Series by metric; one without points in the window is absent. `truncated` when there were more than 10,000 rows. */
export type Series =
  | {
      readonly interval: 'raw';
      readonly auto_downsampled: false;
      readonly series: Readonly<Record<string, RawSeries>>;
      readonly truncated: boolean;
    }
  | {
      readonly interval: RollupInterval;
      readonly auto_downsampled: boolean;
      readonly series: Readonly<Record<string, AggregatedSeries>>;
      readonly truncated: boolean;
    };

export interface FleetHealth {
  readonly sources_total: number;
  readonly sources_online: number;
}

/** One metric over all devices. */
export interface FleetMetrics {
  readonly metric: string;
  readonly interval: RollupInterval;
  /** Devices that are online, with this metric or without. */
  readonly sources_online: number;
  /** Length of `sources`. */
  readonly sources_w_metric: number;
  /** Every device that reported the metric in the window, by source_id. */
  readonly sources: readonly FleetSeries[];
  /** True when there were more than 10,000 rows. Ask again from the last timestamp for more. */
  readonly truncated: boolean;
}

export interface FleetSeries extends AggregatedSeries {
  readonly source_id: string;
  readonly online: boolean;
}

export interface CommandReceipt {
  /** True: the command was handed to the open connection of the device. False: the device never gets it. */
  readonly queued: boolean;
  /** Of the command, when it was handed over: its outcomes carry it. */
  readonly id?: string;
}

/** Fires above `max` and below `min`. At least one of them is needed. */
export interface Threshold {
  readonly min?: number | null;
  readonly max?: number | null;
  /** Where a value is back inside, when that is to be further inside than the bounds. A number where there is only one bound. */
  readonly clear?: number | { readonly min?: number | null; readonly max?: number | null } | null;
  /** How long all values have to be outside, by the times of the points: 0 to 604800. Without it: 0. */
  readonly for_seconds?: number | null;
  /** Without it: `warning`. */
  readonly severity?: Severity | null;
  /** For people, at most 512 bytes. */
  readonly message?: string | null;
}

/** Fires when the device has had no connection and has sent nothing for so long. */
export interface Offline {
  /** 10 to 2592000. Without it: 300. */
  readonly timeout_seconds?: number | null;
  /** Without it: `warning`. */
  readonly severity?: Severity | null;
  /** For people, at most 512 bytes. */
  readonly message?: string | null;
}

export interface NewMonitor {
  /** For people, at most 100 characters. */
  readonly name?: string | null;
  /** The device; `*` is every device of the organization. */
  readonly source_id: string;
  /** The metric that the threshold is about. May be left out without a threshold. */
  readonly metric?: string | null;
  readonly threshold?: Threshold | null;
  readonly offline?: Offline | null;
}

export interface Monitor extends NewMonitor {
  readonly id: string;
  /** Unix milliseconds. */
  readonly created_ms: number;
  /** Since when this definition holds, Unix milliseconds. What was received before does not count. */
  readonly defined_ms: number;
}

export interface DefinedMonitor extends Monitor {
  readonly success: true;
}

/** Takes the place of what is there, objects field by field, and null removes. The source and the metric stay. */
export interface MonitorPatch extends Omit<NewMonitor, 'source_id'> {
  readonly source_id?: string;
}

/** A monitor to try on a window of the past; without a window, on the last hour. */
export interface NewBacktest extends NewMonitor {
  /** The device whose points are evaluated. Needed where `source_id` is `*`. */
  readonly try_on?: string | null;
  readonly last?: string;
  readonly start?: string;
  readonly end?: string;
}

export interface Backtest {
  /** In the order of time, the first 1000. */
  readonly transitions: readonly Transition[];
  /** How many points were evaluated. */
  readonly points: number;
  /** All points before this time were evaluated, Unix milliseconds. */
  readonly evaluated_until_ms: number;
  /** True when the window goes on behind that: ask for less at once. */
  readonly truncated: boolean;
}

export interface Transition {
  readonly event: 'alert.triggered' | 'alert.resolved';
  /** Time of the point, Unix milliseconds. */
  readonly timestamp_ms: number;
  readonly value: number;
}

export interface Alert {
  readonly alert_id: string;
  readonly status: 'open' | 'resolved';
  readonly monitor_id: string;
  readonly source_id: string;
  readonly metric: string | null;
  readonly condition: 'threshold' | 'offline';
  /** The value that made the alert fire or resolve; null where none did. */
  readonly value: number | null;
  /** The bounds when the alert fired. */
  readonly threshold: Readonly<Record<string, unknown>> | null;
  readonly offline?: { readonly timeout_seconds: number };
  readonly severity: Severity;
  readonly message: string;
  /** Unix milliseconds. */
  readonly triggered_at_ms: number;
  /** Unix milliseconds. */
  readonly resolved_at_ms: number | null;
  readonly resolved_by?: 'inside' | 'heard' | 'changed' | 'deleted';
  readonly acknowledged: { readonly at_ms: number; readonly by: string } | null;
  /** Until then nobody is told of this alert, nor of the next ones of its condition. */
  readonly silenced_until_ms: number | null;
}

export interface Silence {
  readonly until_ms: number;
}

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  /** The first 8 characters of the key. */
  readonly prefix: string;
  /** The last 4 characters of the key. */
  readonly suffix: string;
  readonly scopes: readonly Scope[];
  /** The sources that the key is for: ids, or beginnings of ids that end with `*`. `["*"]`: every source. */
  readonly sources: readonly string[];
  /** Unix milliseconds. */
  readonly created_ms: number;
  /** The id of the key or account that made it, or `operator`; null where nobody knows. */
  readonly created_by: string | null;
  /** Start of the minute in which it was last used, Unix milliseconds. */
  readonly last_used_ms: number | null;
  /** The address from which it was last used. */
  readonly last_used_from: string | null;
}

export interface CreatedApiKey extends ApiKey {
  /** The key. It is shown here and never again: store it now. */
  readonly api_key: string;
}

export interface NewApiKey {
  /** What the key is for, 1 to 100 characters. */
  readonly name: string;
  /** Without it: `write`. */
  readonly scopes?: readonly Scope[];
  /** The sources that the key is for: ids, or beginnings of ids that end with `*`. Without it: every source. */
  readonly sources?: readonly string[];
}

/** What a key may do. */
export interface VerifiedKey {
  readonly org_id: string;
  readonly scopes: readonly Scope[];
  readonly sources?: readonly string[];
}

/** A point as a stream brings it. */
export interface StreamedPoint {
  readonly source_id: string;
  readonly class: 'metric';
  readonly metric: string;
  readonly value: number;
  /** Unix milliseconds. */
  readonly timestamp: number;
  readonly tags?: Tags;
}

/** An event as a stream brings it. */
export interface StreamedEvent {
  readonly source_id: string;
  readonly class: 'event';
  /** Name of the event. */
  readonly metric: string;
  /** Of the JSON type that was sent. */
  readonly value: unknown;
  /** Unix milliseconds. */
  readonly timestamp: number;
  readonly tags?: Tags;
}

/** A message of a stream. Whoever comes back with the last `cursor` goes on behind it, for about an hour. */
export type StreamMessage = (
  | { readonly type: 'telemetry'; readonly points: readonly StreamedPoint[] }
  | ({ readonly type: 'event' } & StreamedEvent)
  /** What was accepted between these times is not in the stream: queries have it. Unix milliseconds; null where nobody knows. */
  | { readonly type: 'gap'; readonly from: number | null; readonly to: number }
  /** The log is away, and the server tries again after so many seconds. */
  | { readonly type: 'gateway_reconnecting'; readonly attempt: number; readonly delay_s: number }
  /** Only moves the cursor; the first one says that the stream has begun. */
  | { readonly type: 'cursor' }
) & { readonly cursor?: string };

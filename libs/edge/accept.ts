import { Inject, Injectable } from '@nestjs/common';
import { entry, RECORD_LOG, type Entry, type Headers, type RecordLog } from '#log';
import {
  type Accepted,
  type BoundSources,
  type Caller,
  counter,
  cutEvents,
  cutPoints,
  type EventBatch,
  Histogram,
  histogram,
  IngestParser,
  type PointBatch,
  TelemetryError,
} from '#model';
import { events as eventsTopic, points as pointsTopic } from '#topics';
import { CLOCK, type Clock } from './clock.js';
import { Metrics } from './metrics.js';
import { NameLimiter } from './name-limiter.js';
import { Rates } from './rates.js';
import { release } from './read-body.js';
import { Slices } from './slices.js';

/** The answer to a body that is durable in the log. `source_id` only when the body named exactly one. */
export interface Receipt {
  readonly success: true;
  readonly count: number;
  readonly source_id?: string;
}

/** W3C Trace Context. */
const traceparentShape = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The batches of so many sources are appended in one slice. */
const sliceBatches = 512;

/** The door of the log: whatever way points come in, they pass here. */
@Injectable()
export class Accept {
  readonly #appendSeconds = new Histogram([0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5]);
  readonly #parser = new IngestParser();
  #points = 0;
  #events = 0;

  constructor(
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly slices: Slices,
    private readonly names: NameLimiter,
    private readonly rates: Rates,
    metrics: Metrics,
  ) {
    metrics.add(
      histogram(
        'headwater_log_append_duration_seconds',
        'Time from handing the records of a body to the log until they are durable.',
        () => this.#appendSeconds,
      ),
      counter('headwater_points_accepted', 'Metric points and events that were acknowledged, by class.', () => [
        { labels: { class: 'metric' }, value: this.#points },
        { labels: { class: 'event' }, value: this.#events },
      ]),
    );
  }

  /** Resolves once every point of the body is durable; the bytes are given away. Rejects with a TelemetryError; unless it is `log_unavailable`, nothing was written. */
  async body(caller: Caller, bytes: Uint8Array | undefined, requestId: string, traceparent?: string): Promise<Receipt> {
    if (!bytes?.length) throw new TelemetryError('invalid_json', 'Send a JSON body: there was none.');
    const parsed = this.#parse(caller, bytes, undefined);
    // Where there is nothing to wait for, `await` would cost a turn of the microtasks.
    const accepted = parsed instanceof Promise ? await parsed : parsed;
    release(bytes);
    if (caller.bound) checkSources(caller.bound, accepted);
    const checked = this.names.check(caller.orgId, accepted);
    if (checked) await checked;
    const { count, sourceId } = accepted;
    this.rates.charge(caller, 'points', count);
    const isTraced = traceparent !== undefined && traceparentShape.test(traceparent);
    const headers = isTraced ? { request_id: requestId, traceparent } : { request_id: requestId };
    if (count > 0) await this.append(caller.orgId, accepted, headers);
    return sourceId === undefined ? { success: true, count } : { success: true, count, source_id: sourceId };
  }

  /**
   * Reads a body all of whose points are of this source, and charges for it. What it resolves with is for `append`. Rejects with a
   * TelemetryError. Counts as a request.
   */
  async read(caller: Caller, bytes: Uint8Array, sourceId: string): Promise<Accepted> {
    this.rates.charge(caller, 'requests', 1);
    const accepted = await this.#parse(caller, bytes, sourceId);
    await this.names.check(caller.orgId, accepted);
    this.rates.charge(caller, 'points', accepted.count);
    return accepted;
  }

  #parse(caller: Caller, bytes: Uint8Array, sourceId: string | undefined): Accepted | Promise<Accepted> {
    this.rates.charge(caller, 'bytes', bytes.length);
    const { orgId } = caller;
    return this.slices.finish(orgId, this.#parser.parse(bytes, { orgId, receivedMs: this.clock(), sourceId }));
  }

  /** Resolves once everything is durable, in the order in which it stands. Rejects `log_unavailable`: some of it may then be durable. */
  async append(orgId: string, accepted: Accepted, headers: Headers): Promise<void> {
    const startMs = performance.now();
    const { points, events } = accepted;
    if (points.length + events.length <= sliceBatches) await this.log.append(entries(points, events, headers));
    else await this.#appendInSlices(orgId, accepted, headers);
    this.#appendSeconds.add((performance.now() - startMs) / 1000);
    const eventCount = events.reduce((sum, batch) => sum + batch.events.length, 0);
    this.#events += eventCount;
    this.#points += accepted.count - eventCount;
  }

  async #appendInSlices(orgId: string, accepted: Accepted, headers: Headers): Promise<void> {
    const failures: unknown[] = [];
    await Promise.all(await this.slices.finish(orgId, this.#appends(accepted, headers, failures)));
    // Only now: a client that is told of a failure may send the body again at once.
    if (failures.length > 0) throw failures[0];
  }

  /** The records of one source go together, because they keep their order only within one call. */
  *#appends({ points, events }: Accepted, headers: Headers, failures: unknown[]): Generator<void, Promise<unknown>[]> {
    const appends: Promise<unknown>[] = [];
    for (let at = 0; at < points.length + events.length; at += sliceBatches) {
      if (at > 0) yield;
      const some = points.slice(at, at + sliceBatches);
      const others = events.slice(Math.max(0, at - points.length), Math.max(0, at + sliceBatches - points.length));
      appends.push(this.log.append(entries(some, others, headers)).catch((error: unknown) => failures.push(error)));
    }
    return appends;
  }
}

/** @throws TelemetryError `foreign_source`. */
function checkSources(bound: BoundSources, { points, events, sourceId }: Accepted): void {
  const named = sourceId === undefined ? [] : [{ sourceId }];
  const foreign = [...named, ...points, ...events].find((one) => !bound.has(one.sourceId));
  if (foreign)
    throw new TelemetryError('foreign_source', `Send without ${foreign.sourceId}, or with another key: this one is for other sources.`);
}

function entries(points: readonly PointBatch[], events: readonly EventBatch[], headers: Headers): Entry[] {
  const all: Entry[] = [];
  for (const batch of points) for (const part of cutPoints(batch)) all.push(entry(pointsTopic, part, headers));
  for (const batch of events) for (const part of cutEvents(batch)) all.push(entry(eventsTopic, part, headers));
  return all;
}

import { Inject, Injectable } from '@nestjs/common';
import { entry, RECORD_LOG, type Entry, type Headers, type RecordLog } from '#log';
import { cutEvents, cutPoints, parseIngest, TelemetryError, type Accepted, type Caller, type Metric } from '#model';
import { events, points } from '#topics';
import { CLOCK, type Clock } from './clock.js';

/** The answer to a body that is durable in the log. `source_id` only when the body named exactly one. */
export interface Receipt {
  readonly success: true;
  readonly count: number;
  readonly source_id?: string;
}

/** The door of the log: whatever way points come in, they pass here. */
@Injectable()
export class Accept {
  #accepted = 0;

  constructor(
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Resolves once every point of the body is durable. Rejects with a TelemetryError; unless it is `log_unavailable`, nothing was written. */
  async body(caller: Caller, bytes: Uint8Array | undefined, requestId: string, traceparent?: string): Promise<Receipt> {
    if (!bytes?.length) throw new TelemetryError('invalid_json', 'Send a JSON body: there was none.');
    const accepted = parseIngest(bytes, { orgId: caller.orgId, receivedMs: this.clock() });
    const { count, sourceId } = accepted;
    if (count > 0) await this.log.append(entries(accepted, { request_id: requestId, ...(traceparent && { traceparent }) }));
    this.#accepted += count;
    return { success: true, count, ...(sourceId !== undefined && { source_id: sourceId }) };
  }

  readonly metrics: readonly Metric[] = [
    {
      name: 'headwater_points_accepted',
      kind: 'counter',
      unit: '',
      help: 'Points and events that were acknowledged.',
      read: () => this.#accepted,
    },
  ];
}

function entries(accepted: Accepted, headers: Headers): Entry[] {
  return [
    ...accepted.points.flatMap(cutPoints).map((batch) => entry(points, batch, headers)),
    ...accepted.events.flatMap(cutEvents).map((batch) => entry(events, batch, headers)),
  ];
}

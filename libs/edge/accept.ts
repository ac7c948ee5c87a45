import { Inject, Injectable } from '@nestjs/common';
import { entry, RECORD_LOG, type RecordLog } from '#log';
import { TelemetryError, type Caller } from '#model';
import { points } from '#topics';
import { CLOCK, type Clock } from './clock.js';
import { parseBody } from './parse-body.js';

/** The answer to a body that is durable in the log. `source_id` only when the body named exactly one. */
export interface Receipt {
  readonly success: true;
  readonly count: number;
  readonly source_id?: string;
}

/** The door of the log: whatever way points come in, they pass here. */
@Injectable()
export class Accept {
  constructor(
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Resolves once all points of the body are durable. Rejects with the reason, and then nothing of it was written, unless the log broke in between. */
  async body(caller: Caller, bytes: Buffer | undefined, requestId: string): Promise<Receipt> {
    if (!bytes?.length) throw new TelemetryError('invalid_json', 'Send a JSON body: there was none.');
    const body = parseBody(bytes, caller.orgId, this.clock());
    const headers = { request_id: requestId };
    await this.log.append(body.points.map((batch) => entry(points, batch, headers)));
    const [only, ...others] = body.points;
    return { success: true, count: body.count, ...(only && others.length === 0 && { source_id: only.sourceId }) };
  }
}

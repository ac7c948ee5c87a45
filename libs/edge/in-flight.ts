import { Inject, Injectable } from '@nestjs/common';
import { TelemetryError } from '#model';
import { Metrics } from './metrics.js';

export const IN_FLIGHT_LIMITS = Symbol('InFlightLimits');

export interface InFlightLimits {
  /** Bytes of bodies in memory, of all organizations; one organization may hold half of it. */
  readonly bodyBytes: number;
  /** Reads that one organization may have open at once. */
  readonly reads: number;
}

export const inFlightLimits: InFlightLimits = { bodyBytes: 64 * 1024 * 1024, reads: 64 };

class Share {
  bodyBytes = 0;
  reads = 0;
  holders = 0;
}

/**
 * What requests, and frames of sockets, hold in memory, bounded: whoever is over the bound is told to come again, nobody waits in a queue.
 */
@Injectable()
export class InFlight {
  bodyBytes = 0;
  readonly shares = new Map<string, Share>();

  constructor(
    @Inject(IN_FLIGHT_LIMITS) readonly limits: InFlightLimits,
    metrics: Metrics,
  ) {
    metrics.add({
      name: 'headwater_bodies_in_flight_bytes',
      kind: 'gauge',
      unit: 'bytes',
      help: 'Bodies of requests that are not answered yet, as sent and inflated.',
      read: () => this.bodyBytes,
    });
  }

  /** Opens what one holder, such as a request, holds for this organization, still empty. */
  hold(orgId: string): Held {
    let share = this.shares.get(orgId);
    if (!share) this.shares.set(orgId, (share = new Share()));
    return new Held(this, orgId, share);
  }
}

/** What one holder has in memory, until it releases all of it. */
export class Held {
  #bodyBytes = 0;
  #reads = 0;
  #isReleased = false;

  constructor(
    private readonly all: InFlight,
    private readonly orgId: string,
    private readonly share: Share,
  ) {
    share.holders++;
  }

  /** @throws TelemetryError `over_rate` when it is too much for the organization, `overloaded` when it is too much for all. */
  addBody(bytes: number): void {
    const { limits } = this.all;
    if (this.share.bodyBytes + bytes > limits.bodyBytes / 2) {
      throw new TelemetryError('over_rate', 'Wait for the answers to earlier requests, then send this body again.');
    }
    if (this.all.bodyBytes + bytes > limits.bodyBytes) throw new TelemetryError('overloaded', 'Send the same body again in a second.');
    this.#bodyBytes += bytes;
    this.share.bodyBytes += bytes;
    this.all.bodyBytes += bytes;
  }

  /** @throws TelemetryError `over_rate`. */
  addRead(): void {
    const { reads } = this.all.limits;
    if (this.share.reads >= reads) throw new TelemetryError('over_rate', `Ask at most ${reads} questions at once.`);
    this.#reads++;
    this.share.reads++;
  }

  /** What is released already stays so. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.all.bodyBytes -= this.#bodyBytes;
    this.share.bodyBytes -= this.#bodyBytes;
    this.share.reads -= this.#reads;
    if (--this.share.holders === 0) this.all.shares.delete(this.orgId);
  }
}

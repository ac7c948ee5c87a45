import { Inject, Injectable } from '@nestjs/common';
import { gauge, TelemetryError } from '#model';
import { Metrics } from './metrics.js';

export const IN_FLIGHT_LIMITS = Symbol('InFlightLimits');

export interface InFlightLimits {
  /** Bytes of bodies in memory, of all organizations; each may hold half of what the others leave. */
  readonly bodyBytes: number;
  /** Bytes of answers in memory that clients have not taken yet, likewise; a single answer may take all that the others leave. */
  readonly answerBytes: number;
  /** Reads that one organization may have open at once. */
  readonly reads: number;
}

const mib = 1024 * 1024;

export const inFlightLimits: InFlightLimits = { bodyBytes: 64 * mib, answerBytes: 64 * mib, reads: 64 };

class Share {
  bodyBytes = 0;
  answerBytes = 0;
  reads = 0;
  holders = 0;
}

/**
 * What requests, their answers, and frames of sockets hold in memory, bounded: whoever is over the bound is told to come again, nobody waits in
 * a queue.
 */
@Injectable()
export class InFlight {
  bodyBytes = 0;
  answerBytes = 0;
  readonly shares = new Map<string, Share>();

  constructor(
    @Inject(IN_FLIGHT_LIMITS) readonly limits: InFlightLimits,
    metrics: Metrics,
  ) {
    metrics.add(
      gauge(
        'headwater_bodies_in_flight_bytes',
        'Bodies of requests that are not answered yet, as far as they have come, as sent and inflated.',
        () => this.bodyBytes,
      ),
      gauge('headwater_answers_in_flight_bytes', 'Answers to reads that clients have not taken yet.', () => this.answerBytes),
    );
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
  #answerBytes = 0;
  #reads = 0;
  #isReleased = false;

  constructor(
    private readonly all: InFlight,
    readonly orgId: string,
    private readonly share: Share,
  ) {
    share.holders++;
  }

  /**
   * To be called as bytes come: what is announced and not sent takes no memory.
   *
   * @param bytes more than before; negative for less.
   * @throws TelemetryError `over_rate` when it is too much for the organization, `overloaded` when it is too much for all.
   */
  addBody(bytes: number): void {
    const { all, share } = this;
    if (bytes > this.bodyRoom) {
      if (share.bodyBytes + bytes <= all.limits.bodyBytes / 2)
        throw new TelemetryError('overloaded', 'Send the same body again in a second.');
      throw new TelemetryError('over_rate', 'Wait for the answers to earlier requests, then send this body again.');
    }
    this.countBody(bytes);
  }

  /** Bytes of bodies that the organization may hold beyond what it holds; negative when it holds too much. */
  get bodyRoom(): number {
    const { all, share } = this;
    return (all.limits.bodyBytes - (all.bodyBytes - share.bodyBytes)) / 2 - share.bodyBytes;
  }

  /** As `addBody` for bytes that cannot be refused: whoever counts them stops reading while `bodyRoom` is negative. */
  countBody(bytes: number): void {
    if (this.#isReleased) return;
    this.#bodyBytes += bytes;
    this.share.bodyBytes += bytes;
    this.all.bodyBytes += bytes;
  }

  /**
   * To be called when an answer is in memory, before it is sent. An answer larger than all answers may be is sent alone.
   *
   * @throws TelemetryError `over_rate` when other answers wait and it is too much for the organization, `overloaded` when it is too much for all.
   */
  addAnswer(bytes: number): void {
    const { all, share } = this;
    const left = all.limits.answerBytes - (all.answerBytes - share.answerBytes);
    if (share.answerBytes > 0 && share.answerBytes + bytes > left / 2) {
      throw new TelemetryError('over_rate', 'Read the answers to earlier questions to their end, then ask this one again.');
    }
    if (all.answerBytes > 0 && bytes > left) throw new TelemetryError('overloaded', 'Ask again in a second.');
    this.#answerBytes += bytes;
    share.answerBytes += bytes;
    all.answerBytes += bytes;
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
    this.all.answerBytes -= this.#answerBytes;
    this.share.answerBytes -= this.#answerBytes;
    this.share.reads -= this.#reads;
    if (--this.share.holders === 0) this.all.shares.delete(this.orgId);
  }
}

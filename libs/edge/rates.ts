import { Inject, Injectable } from '@nestjs/common';
import { type Caller, counter, type OrganizationLimits, type RateName, rateNames, TelemetryError, TokenBucket } from '#model';
import { CLOCK, type Clock } from './clock.js';
import { Metrics } from './metrics.js';
import { Organizations } from './organizations.js';

const ratesOf = {
  points: ['points_per_s', 'key_points_per_s'],
  requests: ['requests_per_s', 'key_requests_per_s'],
  bytes: ['bytes_per_s', 'key_bytes_per_s'],
} as const;

/**
 * How much an organization, and each of its keys or people, may send in a second to this process: each process counts for itself. A request
 * that changes something is let in while nothing is owed; what it brings is charged afterwards, when its size is known.
 */
@Injectable()
export class Rates {
  /** By the limits of an organization, so that all begin anew when its record changes, and then by rate and key: one for each key it ever used. */
  readonly #buckets = new WeakMap<OrganizationLimits, Map<string, TokenBucket>>();
  readonly #refused = new Map<RateName, number>(rateNames.map((name) => [name, 0]));

  constructor(
    private readonly organizations: Organizations,
    @Inject(CLOCK) private readonly clock: Clock,
    metrics: Metrics,
  ) {
    metrics.add(
      counter(
        'headwater_requests_over_rate',
        'Requests that were refused because their organization or key is over a rate, by the limit.',
        () => Array.from(this.#refused, ([limit, value]) => ({ labels: { limit }, value })),
      ),
    );
  }

  /** Counts a request. @throws TelemetryError `over_rate`, with the seconds until the same request is let in. */
  admit(caller: Caller): void {
    this.check(caller, 0);
    this.charge(caller, 'requests', 1);
  }

  /**
   * Milliseconds until everything that is owed is paid.
   *
   * @throws TelemetryError `over_rate` when it takes longer than `maxMs`.
   */
  check(caller: Caller, maxMs: number): number {
    const { limit, ms } = this.#owed(caller);
    if (limit && ms > maxMs) throw this.#refusal(limit, this.organizations.limits(caller.orgId)[limit]!, Math.ceil(ms / 1000));
    return ms;
  }

  /** Whether a request would be refused now. */
  isOver(caller: Caller): boolean {
    return this.#owed(caller).ms > 0;
  }

  /** Charges for what was let in. */
  charge(caller: Caller, measured: keyof typeof ratesOf, amount: number): void {
    const limits = this.organizations.limits(caller.orgId);
    for (const name of ratesOf[measured]) this.#bucket(limits, name, caller)?.take(amount);
  }

  /** How long it takes until everything is paid, and the limit that takes so long. */
  #owed(caller: Caller): { readonly limit: RateName | undefined; readonly ms: number } {
    const limits = this.organizations.limits(caller.orgId);
    let ms = 0;
    let limit: RateName | undefined;
    for (const name of rateNames) {
      const waitMs = this.#bucket(limits, name, caller)?.waitMs(this.clock()) ?? 0;
      if (waitMs > ms) [ms, limit] = [waitMs, name];
    }
    return { limit, ms };
  }

  /** Undefined where there is no such limit: a limit of 0, which no command sets, would never let anything in again. */
  #bucket(limits: OrganizationLimits, name: RateName, { keyId }: Caller): TokenBucket | undefined {
    const perS = limits[name] ?? 0;
    if (perS <= 0) return undefined;
    let buckets = this.#buckets.get(limits);
    if (!buckets) this.#buckets.set(limits, (buckets = new Map()));
    const id = name.startsWith('key_') ? name + keyId : name;
    let bucket = buckets.get(id);
    if (!bucket) buckets.set(id, (bucket = new TokenBucket(perS, this.clock())));
    return bucket;
  }

  #refusal(name: RateName, perS: number, retryAfterS: number): TelemetryError {
    this.#refused.set(name, this.#refused.get(name)! + 1);
    const who = name.startsWith('key_') ? 'This key' : 'The organization of this key';
    const measured = name.replace('key_', '').replace('_per_s', '');
    const detail = `${who} may send ${perS.toLocaleString('en')} ${measured} a second: go on in ${retryAfterS} seconds.`;
    return new TelemetryError('over_rate', detail, { retryAfterS });
  }
}

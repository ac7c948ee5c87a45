import { Inject, Injectable, Optional } from '@nestjs/common';
import { randomInt } from 'node:crypto';
import {
  type Accepted,
  ActiveNames,
  activePeriodMs,
  counter,
  gauge,
  KnownLists,
  type NameKind,
  nameKinds,
  type NameLimits,
  TelemetryError,
  type TooManyNames,
} from '#model';
import { NAME_ROOM, type NameRoom } from '#stores';
import { CLOCK, type Clock } from './clock.js';
import { Metrics } from './metrics.js';
import { Organizations } from './organizations.js';

export const NAME_LIMITS = Symbol('NameLimits');

const inWords: Readonly<Record<NameKind, string>> = {
  sources: 'devices',
  series: 'series, which are metrics and events of one device,',
  tag_sets: 'tag sets',
};

/** Whether there is room again is for the operator to decide, so this says only how often to ask. */
const roomRetryS = 60;

/**
 * Refuses bodies that bring more new names than their organization may have active in this process, so that names that never come again, such
 * as random ids, fill neither this server's memory nor the store's dictionaries. Each process counts what passes it.
 */
@Injectable()
export class NameLimiter {
  readonly #organizations = new Map<string, ActiveNames>();
  readonly #lists = new KnownLists();
  readonly #refused = new Map<NameKind | 'room', number>();
  #lastPeriod = 0;

  /** @param room where names have a place in the memory of this process. */
  constructor(
    private readonly organizations: Organizations,
    @Inject(NAME_LIMITS) private readonly limits: NameLimits,
    @Inject(CLOCK) private readonly clock: Clock,
    metrics: Metrics,
    @Optional() @Inject(NAME_ROOM) private readonly room?: NameRoom,
  ) {
    const ofKinds = (value: (kind: NameKind) => number) => () => nameKinds.map((kind) => ({ labels: { kind }, value: value(kind) }));
    metrics.add(
      gauge(
        'headwater_active_names',
        'Devices, series and tag sets that this process saw in this hour and the last, of all organizations.',
        ofKinds((kind) => this.#sum((names, nowMs) => names.active(kind, nowMs))),
      ),
      gauge(
        'headwater_active_names_limit_ratio',
        'Active names of the organization that is nearest to its limit, as a share of that limit.',
        ofKinds((kind) => this.#nearest(kind)),
      ),
      counter(
        'headwater_bodies_with_too_many_names',
        'Bodies that were refused for the new names in them, by the limit: a kind of names, or room in memory.',
        () => Array.from(this.#refused, ([limit, value]) => ({ labels: { limit }, value })),
      ),
    );
    for (const limit of [...nameKinds, 'room'] as const) this.#refused.set(limit, 0);
  }

  /**
   * Takes note of the names of a body that is about to be stored. Rejects `too_many_series`, and takes note of no new name. Answers undefined where
   * there is nothing to wait for, as for nearly every body.
   */
  check(orgId: string, body: Accepted): Promise<void> | undefined {
    if (this.room?.isFull(orgId)) return this.#checkKnown(orgId, body, this.room);
    const nowMs = this.clock();
    const excess = this.#admit(orgId, body, nowMs);
    return excess && this.#refuse(body, excess, nowMs);
  }

  async #checkKnown(orgId: string, body: Accepted, room: NameRoom): Promise<void> {
    if (!(await room.knows(body)))
      throw this.#refusal(
        'room',
        'This server has no memory left for the names of new devices and series. Send those that are known already, and have its operator ' +
          'give it a larger heap, or trim its data folder.',
        roomRetryS,
      );
    this.#admit(orgId, body, this.clock());
  }

  #admit(orgId: string, body: Accepted, nowMs: number): TooManyNames | undefined {
    return this.#of(orgId, nowMs).admit(body, () => this.#limitsOf(orgId), nowMs);
  }

  /** Rejects `too_many_series`, unless the store has all names of the body. */
  async #refuse(body: Accepted, { kind, limit, endMs }: TooManyNames, nowMs: number): Promise<void> {
    if (await this.room?.knows(body)) return;
    const retryAfterS = Math.max(1, Math.ceil((endMs - nowMs) / 1000));
    throw this.#refusal(
      kind,
      `Your organization may have ${limit.toLocaleString('en')} ${inWords[kind]} active within two hours, and this body brings more new ones than are left. ` +
        `Send those that are known already; new ones may fit again in ${retryAfterS} seconds.`,
      retryAfterS,
    );
  }

  #refusal(limit: NameKind | 'room', detail: string, retryAfterS: number): TelemetryError {
    this.#refused.set(limit, this.#refused.get(limit)! + 1);
    return new TelemetryError('too_many_series', detail, { retryAfterS });
  }

  #of(orgId: string, nowMs: number): ActiveNames {
    const period = Math.floor(nowMs / activePeriodMs);
    if (period !== this.#lastPeriod) this.#forgetIdle(nowMs);
    this.#lastPeriod = period;
    let names = this.#organizations.get(orgId);
    if (!names) this.#organizations.set(orgId, (names = new ActiveNames(randomInt(2 ** 32), this.#lists)));
    return names;
  }

  #limitsOf(orgId: string): NameLimits {
    const own = this.organizations.limits(orgId);
    return {
      sources: own.sources ?? this.limits.sources,
      series: own.series ?? this.limits.series,
      tag_sets: own.tag_sets ?? this.limits.tag_sets,
    };
  }

  #forgetIdle(nowMs: number): void {
    for (const [orgId, names] of this.#organizations) if (names.isIdle(nowMs)) this.#organizations.delete(orgId);
  }

  #sum(count: (names: ActiveNames, nowMs: number) => number): number {
    const nowMs = this.clock();
    return Array.from(this.#organizations.values(), (names) => count(names, nowMs)).reduce((sum, one) => sum + one, 0);
  }

  #nearest(kind: NameKind): number {
    const nowMs = this.clock();
    const shares = Array.from(this.#organizations, ([orgId, names]) => names.active(kind, nowMs) / this.#limitsOf(orgId)[kind]);
    return shares.reduce((most, share) => Math.max(most, share), 0);
  }
}

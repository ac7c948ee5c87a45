import { intervalMs, keptFrom } from '#model';
import { AgreedTime } from '#stores';
import { everyOrganization, type KeptSince, keptSince } from './boundaries.js';

const dayMs = intervalMs['1d'];

/** How long something is kept, in milliseconds; `Infinity` is for ever. */
export interface KeptFor {
  readonly ms: number;
  /** The organizations of which it is kept for less. */
  readonly less?: () => Iterable<readonly [orgId: string, keepMs: number]>;
}

/** Decides from when on something is kept. */
export class BoundaryKeeper {
  readonly #time = new AgreedTime();
  /** The time by which the boundaries were reckoned last, since the start. */
  #asOfMs = -Infinity;

  /** @param boundaries that hold already. */
  constructor(
    private readonly keep: KeptFor,
    public boundaries: KeptSince,
  ) {}

  /** The first moment that is kept of an organization. */
  from(orgId: string): number {
    return this.boundaries.size === 0 ? 0 : keptSince(this.boundaries, orgId);
  }

  /** Takes note of the time at which a record was received. */
  note(receivedMs: number): void {
    const asOfMs = this.#time.after(receivedMs, this.#isLater(receivedMs));
    if (asOfMs === undefined) return;
    this.#time.restart();
    this.#asOfMs = asOfMs;
    const keeps = [[everyOrganization, this.keep.ms] as const, ...(this.keep.less?.() ?? [])];
    const from = keeps.map(([orgId, keepMs]) => [orgId, keptFrom(keepMs, asOfMs)] as const);
    const later = from.filter(([orgId, fromMs]) => fromMs > (this.boundaries.get(orgId) ?? 0));
    if (later.length > 0) this.boundaries = new Map([...this.boundaries, ...later]);
  }

  /** Whether the boundary of all moves at this time. Those of organizations do once a day: what is shown of them does not depend on it. */
  #isLater(nowMs: number): boolean {
    const moves = keptFrom(this.keep.ms, nowMs) > (this.boundaries.get(everyOrganization) ?? 0);
    return moves || (this.keep.less !== undefined && nowMs >= this.#asOfMs + dayMs);
  }
}

import { type EventBatch, eventsSince, intervalMs, keptFrom } from '#model';
import { AgreedTime, type Placed } from '#stores';
import { type EventBoundaries, eventsFrom, everyOrganization } from './event-boundaries.js';

const dayMs = intervalMs['1d'];

/** How long events are kept, in milliseconds; `Infinity` is for ever. */
export interface KeepEvents {
  readonly ms: number;
  /** The organizations whose events are kept for less. */
  readonly less?: () => Iterable<readonly [orgId: string, keepMs: number]>;
}

/** Decides from when on events are taken. */
export class EventKeeper {
  readonly #time = new AgreedTime();
  /** The time by which the boundaries were reckoned last, since the start. */
  #asOfMs = -Infinity;

  constructor(
    private readonly keep: KeepEvents,
    public boundaries: EventBoundaries,
  ) {}

  /** Without the events that come too late. A batch may be left with none: the store has it all the same. */
  timely(batches: readonly Placed<EventBatch>[]): readonly Placed<EventBatch>[] {
    for (const { value } of batches) this.#note(value.receivedMs);
    if (this.boundaries.size === 0) return batches;
    return batches.map((batch) => ({ ...batch, value: eventsSince(batch.value, eventsFrom(this.boundaries, batch.value.orgId)) }));
  }

  /** A record was received at this time. */
  #note(receivedMs: number): void {
    const asOfMs = this.#time.after(receivedMs, this.#isLater(receivedMs));
    if (asOfMs === undefined) return;
    this.#time.restart();
    this.#asOfMs = asOfMs;
    const from = Array.from(
      [[everyOrganization, this.keep.ms] as const, ...(this.keep.less?.() ?? [])],
      ([orgId, keepMs]) => [orgId, keptFrom(keepMs, asOfMs)] as const,
    );
    const later = from.filter(([orgId, fromMs]) => fromMs > (this.boundaries.get(orgId) ?? 0));
    if (later.length > 0) this.boundaries = new Map([...this.boundaries, ...later]);
  }

  /** Whether the boundary of all moves at this time. Those of organizations do once a day: what is shown of them does not depend on it. */
  #isLater(nowMs: number): boolean {
    const moves = keptFrom(this.keep.ms, nowMs) > (this.boundaries.get(everyOrganization) ?? 0);
    return moves || (this.keep.less !== undefined && nowMs >= this.#asOfMs + dayMs);
  }
}

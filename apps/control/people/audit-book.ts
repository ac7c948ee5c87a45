import { Inject, Injectable } from '@nestjs/common';
import { Readiness } from '#edge';
import { VIEWS, type View, type Views } from '#log';
import type { AuditEntry } from '#model';
import { audit } from '#topics';

/** What people and operators have changed, as the log tells it: of each organization the newest entries of each area. */
@Injectable()
export class AuditBook {
  readonly #entries: View<AuditEntry>;

  constructor(@Inject(VIEWS) views: Views, readiness: Readiness) {
    this.#entries = views.open(audit);
    readiness.need(this.#entries.ready);
  }

  /** Newest first; those behind `before`, the id of one, or the newest. Fewer than asked for when there are no more. */
  list(orgId: string, limit: number, before?: string): readonly AuditEntry[] {
    const newest = Array.from(this.#entries.scan(`${orgId}/`), ([, its]) => its)
      .toSorted(byTime)
      .reverse();
    const at = before === undefined ? 0 : newest.findIndex(({ id }) => id === before) + 1;
    // One that is written over by now has nothing behind it.
    return before !== undefined && at === 0 ? [] : newest.slice(at, at + limit);
  }
}

/** Oldest first. Within an area no time is before the one of the change before. */
const byTime = (a: AuditEntry, b: AuditEntry): number => a.atMs - b.atMs || a.area.localeCompare(b.area) || a.count - b.count;

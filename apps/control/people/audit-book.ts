import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Readiness } from '#edge';
import { LogGap, RECORD_LOG, type Following, type RecordLog } from '#log';
import type { AuditEntry } from '#model';
import { audit } from '#topics';

/** Entries of an organization that can be asked for: the newest. The topic has all of them. */
export const maxAuditEntries = 1_000;
/** Entries of all organizations that are in memory; beyond them those go that are the oldest in the log. */
const maxRemembered = 200_000;

/** What people and operators have changed, as the log tells it: of each organization the newest entries. */
@Injectable()
export class AuditBook implements OnApplicationShutdown {
  /** In the order of the log, by organization and then by id: a copy of an entry changes nothing. */
  readonly #entriesOf = new Map<string, Map<string, AuditEntry>>();
  #remembered = 0;
  #following: Following;

  constructor(
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    readiness: Readiness,
  ) {
    this.#following = this.#follow();
    readiness.need(this.#following.caughtUp());
  }

  onApplicationShutdown(): Promise<void> {
    return this.#following.stop();
  }

  /** Newest first; those behind `before`, the id of one, or the newest. Fewer than asked for when there are no more. */
  list(orgId: string, limit: number, before?: string): readonly AuditEntry[] {
    const newest = Array.from(this.#entriesOf.get(orgId)?.values() ?? []).reverse();
    const at = before === undefined ? 0 : newest.findIndex(({ id }) => id === before) + 1;
    // One that is not remembered any more has nothing behind it.
    return before !== undefined && at === 0 ? [] : newest.slice(at, at + limit);
  }

  /** Resolves when all that was in the log at the call is known. */
  caughtUp(): Promise<void> {
    return this.#following.caughtUp();
  }

  #follow(): Following {
    return this.log.follow({
      topics: [audit],
      from: 'beginning',
      take: (records) => {
        for (const { value } of records) if (value) this.#take(value as AuditEntry);
      },
      unreadable: () => undefined,
      // What was deleted from the log meanwhile is remembered for as long as this process runs.
      stopped: (error) => {
        if (error instanceof LogGap) this.#following = this.#follow();
      },
    });
  }

  #take(entry: AuditEntry): void {
    let entries = this.#entriesOf.get(entry.orgId);
    if (!entries) this.#entriesOf.set(entry.orgId, (entries = new Map()));
    if (entries.has(entry.id)) return;
    entries.set(entry.id, entry);
    this.#remembered++;
    if (entries.size > maxAuditEntries) this.#forget(entry.orgId, entries);
    while (this.#remembered > maxRemembered) {
      const [orgId, oldest] = this.#entriesOf.entries().next().value!;
      this.#forget(orgId, oldest);
      // Organizations take turns.
      this.#entriesOf.delete(orgId);
      if (oldest.size > 0) this.#entriesOf.set(orgId, oldest);
    }
  }

  #forget(orgId: string, entries: Map<string, AuditEntry>): void {
    entries.delete(entries.keys().next().value!);
    this.#remembered--;
    if (entries.size === 0) this.#entriesOf.delete(orgId);
  }
}

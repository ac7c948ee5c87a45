import { Inject, Injectable } from '@nestjs/common';
import { Accounts, Readiness } from '#edge';
import { LogGap, RECORD_LOG, type RecordLog, type StreamRecord } from '#log';
import type { AuditEntry } from '#model';
import { audit } from '#topics';

/** Entries of one organization, or of one account, that are shown: the newest. The topic has all of them. */
export const maxShown = 10_000;

interface Shown {
  readonly offset: number;
  readonly entry: AuditEntry;
}

/** What people and operators have changed, as the log tells it. */
@Injectable()
export class AuditBook {
  /** By organization, or by account where an entry is about none; each by id, oldest first. */
  #shown = new Map<string, Map<string, Shown>>();

  constructor(
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    private readonly accounts: Accounts,
    readiness: Readiness,
  ) {
    const { promise, resolve } = Promise.withResolvers<void>();
    readiness.need(promise);
    readiness.need(accounts.ready);
    void this.#follow(resolve);
  }

  /**
   * Of an organization, and of the accounts of its people for as long as they belong to it. Newest first; those behind `before`, the id of
   * one, or the newest. Fewer than asked for when there are no more.
   */
  list(orgId: string, limit: number, before?: string): readonly AuditEntry[] {
    const ofPeople = this.accounts
      .membersOf(orgId)
      .flatMap(({ accountId, sinceMs }) => this.#of(accountId).filter(({ entry }) => entry.atMs >= sinceMs));
    const newest = [...this.#of(orgId), ...ofPeople].toSorted((a, b) => b.offset - a.offset).map(({ entry }) => entry);
    const at = before === undefined ? 0 : newest.findIndex(({ id }) => id === before) + 1;
    // One that is not shown any more has nothing behind it.
    return before !== undefined && at === 0 ? [] : newest.slice(at, at + limit);
  }

  #of(name: string): readonly Shown[] {
    return [...(this.#shown.get(name)?.values() ?? [])];
  }

  /** Reads the topic for as long as it can be read; after a gap again, while it shows what it showed. */
  async #follow(ready: () => void): Promise<void> {
    let end: Error;
    do {
      const shown = new Map<string, Map<string, Shown>>();
      const stopped = Promise.withResolvers<Error>();
      const following = this.log.follow({
        topics: [audit],
        from: 'beginning',
        take: (records) => {
          for (const record of records) add(shown, record as StreamRecord<AuditEntry>);
        },
        unreadable: () => undefined,
        stopped: stopped.resolve,
      });
      const show = (): void => {
        this.#shown = shown;
        ready();
      };
      following.caughtUp().then(show, () => undefined);
      end = await stopped.promise;
    } while (end instanceof LogGap);
  }
}

function add(shown: Map<string, Map<string, Shown>>, { offset, value: entry }: StreamRecord<AuditEntry>): void {
  if (!entry) return;
  const name = entry.orgId || entry.about;
  const its = shown.get(name) ?? new Map<string, Shown>();
  shown.set(name, its);
  // After a crash an entry may come twice.
  if (!its.has(entry.id)) its.set(entry.id, { offset, entry });
  if (its.size > maxShown) its.delete(its.keys().next().value!);
}

import { Logger } from '@nestjs/common';
import { gauge, tally, type Alert, type Metric, type WatchedSource } from '#model';

/** Open alerts of one organization in one process. Each has about 1.2 KB in the memory of whoever lists them. */
export const maxOpenAlerts = 100_000;

/** How many alerts of the sources of one process an organization has open, and whether another one may open. */
export class OpenAlerts {
  /** By organization. */
  readonly #open = new Map<string, number>();
  /** Organizations that had `max` of them, until a tenth has resolved: so it is told once. */
  readonly #full = new Set<string>();
  readonly #logger = new Logger('monitors');

  /** @param max of one organization. */
  constructor(private readonly max = maxOpenAlerts) {}

  hasRoom(orgId: string): boolean {
    return !this.#full.has(orgId);
  }

  /** Begins anew with what is open in these states. */
  begin(states: Iterable<readonly [key: string, state: WatchedSource]>): void {
    this.#open.clear();
    for (const [, { orgId, monitors }] of states)
      for (const { alert, offlineAlert } of monitors) tally(this.#open, orgId, (alert ? 1 : 0) + (offlineAlert ? 1 : 0));
    for (const orgId of [...this.#full, ...this.#open.keys()]) this.#judge(orgId);
  }

  /** @param transitions that were decided. */
  count(orgId: string, transitions: readonly Alert[]): void {
    if (transitions.length === 0) return;
    tally(
      this.#open,
      orgId,
      transitions.reduce((sum, { resolvedMs }) => sum + (resolvedMs === null ? 1 : -1), 0),
    );
    this.#judge(orgId);
  }

  metrics(): readonly Metric[] {
    return [
      gauge(
        'headwater_full_organizations',
        'Organizations that have so many open alerts in this process that no other one of theirs opens.',
        () => this.#full.size,
      ),
    ];
  }

  #judge(orgId: string): void {
    const open = this.#open.get(orgId) ?? 0;
    if (open < 0.9 * this.max) this.#full.delete(orgId);
    if (open < this.max || this.#full.has(orgId)) return;
    this.#full.add(orgId);
    this.#logger.error(
      `the organization ${orgId} has ${open.toLocaleString('en')} open alerts here: no other one of it opens until a tenth has resolved`,
    );
  }
}

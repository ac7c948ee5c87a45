import type { Fleet } from '#edge';
import { everySource, mayUse, TelemetryError, type Caller } from '#model';

/**
 * Checks that a caller may have this source watched.
 *
 * @throws TelemetryError `unknown_source` where nobody knows the source, where it is another organization's, or where the key is not for it:
 * the answer is the same. `foreign_source` for every source, where the key is for some.
 */
export function checkWatchable(fleet: Fleet, caller: Caller, sourceId: string): void {
  if (sourceId === everySource && !caller.bound) return;
  if (sourceId === everySource) throw new TelemetryError('foreign_source', 'Name a source: this key is not for every source.');
  if (!mayUse(caller, sourceId) || !fleet.member(caller, sourceId))
    throw new TelemetryError('unknown_source', 'Check the source id: no such source has sent a point or is connected.');
}

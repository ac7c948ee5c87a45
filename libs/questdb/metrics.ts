import { counter, gauge, histogram, type Metric } from '#model';
import type { Figures } from './delivery.js';

/** What the stores of a generation hold. */
interface HeldByStores {
  readonly series: { readonly heldBytes: number; readonly seriesCount: number };
  readonly events: { readonly heldBytes: number };
}

export function metricsOf(figures: Figures, suspendedTables: () => number, held: () => Iterable<HeldByStores>): Metric[] {
  const sum = (of: (one: HeldByStores) => number) => (): number => Array.from(held(), of).reduce((all, one) => all + one, 0);
  return [
    counter('headwater_questdb_rows', 'Rows that QuestDB has accepted since the start; one that was sent again counts again.', () =>
      Object.entries(figures.rows).map(([kind, value]) => ({ labels: { kind }, value })),
    ),
    histogram(
      'headwater_questdb_apply_seconds',
      'Time from the acceptance of rows of points until readers saw them.',
      () => figures.applied,
    ),
    gauge(
      'headwater_questdb_held_bytes',
      'Rows of points and events that wait for QuestDB or are under way.',
      sum(({ series, events }) => series.heldBytes + events.heldBytes),
    ),
    gauge(
      'headwater_questdb_series',
      'Series, and sets of tags in them, that this process has taken points of and remembers, at about a kilobyte each; beyond a third of the heap it begins anew.',
      sum(({ series }) => series.seriesCount),
    ),
    counter('headwater_questdb_failures', 'Attempts to bring rows to QuestDB that failed since the start.', () => figures.failures),
    counter(
      'headwater_questdb_unanswered_buckets',
      'Buckets that have points and for which QuestDB answered nothing, since the start; their checkpoint fails and asks again.',
      () => figures.unanswered,
    ),
    ...(['points', 'events'] as const).map((what) =>
      counter(
        `headwater_late_${what}`,
        `The ${what} that came when their time was no longer kept: the log has them, and answers do not. Those that a rebuild reads again count again.`,
        () => figures.late[what],
      ),
    ),
    gauge(
      'headwater_questdb_suspended_tables',
      'Tables that QuestDB had suspended when it was last looked: they take rows and show none.',
      suspendedTables,
    ),
  ];
}

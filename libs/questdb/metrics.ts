import type { Metric } from '#model';
import type { Figures } from './delivery.js';

/** What the stores of a generation hold. */
interface Held {
  readonly series: { readonly heldBytes: number; readonly seriesCount: number };
  readonly events: { readonly heldBytes: number };
}

export function metricsOf(figures: Figures, suspendedTables: () => number, held: () => Iterable<Held>): Metric[] {
  const sum = (of: (one: Held) => number) => (): number => Array.from(held(), of).reduce((all, one) => all + one, 0);
  return [
    {
      name: 'headwater_questdb_rows',
      kind: 'counter',
      unit: '',
      help: 'Rows that QuestDB has accepted since the start; one that was sent again counts again.',
      read: () => Object.entries(figures.rows).map(([kind, value]) => ({ labels: { kind }, value })),
    },
    {
      name: 'headwater_questdb_apply_seconds',
      kind: 'histogram',
      unit: 'seconds',
      help: 'Time from the acceptance of rows of points until readers saw them.',
      read: () => figures.applied,
    },
    {
      name: 'headwater_questdb_held_bytes',
      kind: 'gauge',
      unit: 'bytes',
      help: 'Rows of points and events that wait for QuestDB or are under way.',
      read: sum(({ series, events }) => series.heldBytes + events.heldBytes),
    },
    {
      name: 'headwater_questdb_series',
      kind: 'gauge',
      unit: '',
      help: 'Series, and sets of tags in them, that this process has taken points of and remembers, at about a kilobyte each; beyond a third of the heap it begins anew.',
      read: sum(({ series }) => series.seriesCount),
    },
    {
      name: 'headwater_questdb_failures',
      kind: 'counter',
      unit: '',
      help: 'Attempts to bring rows to QuestDB that failed since the start.',
      read: () => figures.failures,
    },
    {
      name: 'headwater_questdb_unanswered_buckets',
      kind: 'counter',
      unit: '',
      help: 'Buckets that have points and for which QuestDB answered nothing, since the start; their checkpoint fails and asks again.',
      read: () => figures.unanswered,
    },
    {
      name: 'headwater_questdb_suspended_tables',
      kind: 'gauge',
      unit: '',
      help: 'Tables that QuestDB had suspended when it was last looked: they take rows and show none.',
      read: suspendedTables,
    },
  ];
}

import { Histogram, type Metric } from '#model';
import type { Outage } from './outage.js';
import type { Visibility } from './visibility.js';

/** What writing has done since the start. */
export class Figures {
  /** Rows that the store has accepted, by what they are. */
  readonly rows = { points: 0, late_points: 0, rollups: 0, events: 0 };
  /** Seconds from the acceptance of rows until readers saw them. */
  readonly applied = new Histogram([0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30]);
}

/** @param held bytes that wait and are under way. */
export function metricsOf(figures: Figures, outage: Outage, visibility: Visibility, held: () => number): Metric[] {
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
      help: 'Rows of points that wait for QuestDB or are under way.',
      read: held,
    },
    {
      name: 'headwater_questdb_failures',
      kind: 'counter',
      unit: '',
      help: 'Attempts to bring rows to QuestDB that failed since the start.',
      read: () => outage.failures,
    },
    {
      name: 'headwater_questdb_suspended_tables',
      kind: 'gauge',
      unit: '',
      help: 'Tables that QuestDB had suspended when it was last looked: they take rows and show none.',
      read: () => visibility.suspended.length,
    },
  ];
}

import { entry, tombstone } from '#log';
import { alertDecider, subjectKey, type AlertCommand, type AlertCommandOutcome, type AlertEvent, type AlertNotesState } from '#model';
import { alertCommands, alertNotes } from '#topics';
import type { Area } from './area.js';

/** What people say of alerts: that they know of them, and until when nobody is to be told. */
export const alertsArea: Area<AlertNotesState, AlertCommand, AlertEvent, AlertCommandOutcome> = {
  name: 'alerts',
  topic: alertCommands,
  topics: [alertNotes],
  decider: alertDecider,
  stateIn: (views) => (orgId) => ({ notes: new Map(views.open(alertNotes).scan(`${orgId}/`)) }),
  outcomeOf: ({ outcome: word, alertId: about }) => ({ word, about }),

  effectsOf: ({ note, forgotten }) => [
    ...forgotten.map((one) => tombstone(alertNotes, subjectKey(one))),
    ...(note ? [entry(alertNotes, note)] : []),
  ],

  auditOf({ outcome, alertId, note }) {
    if (!note) return [];
    const until = outcome === 'silenced' ? ` until ${new Date(note.silencedUntilMs).toISOString()}` : '';
    return [{ did: `alert.${outcome}`, about: alertId, text: `${note.condition} of ${note.sourceId}${until}` }];
  },
};

import type { Alert } from './alert.js';
import type { Decider } from './decider.js';
import type { Asked } from './once.js';

/** Notes of one organization. Beyond them the oldest are forgotten that silence nothing. */
export const maxAlertNotes = 10_000;
/** So few that their ends fit into the record of a decision. */
const forgottenTogether = 20;
export const maxSilenceMs = 30 * 86_400_000;

/** A monitor has at most one open alert of each of these per source. */
export const alertConditions = ['threshold', 'offline'] as const;
export type AlertCondition = (typeof alertConditions)[number];

export const conditionOf = ({ threshold }: Pick<Alert, 'threshold'>): AlertCondition => (threshold ? 'threshold' : 'offline');

/** What an alert is about: when it fires again, it is another alert about the same. */
export interface AlertSubject {
  readonly orgId: string;
  readonly sourceId: string;
  readonly monitorId: string;
  readonly condition: AlertCondition;
}

/** What people have said of the alerts about one thing. */
export interface AlertNote extends AlertSubject {
  /** The alert that somebody has acknowledged; empty where nobody has. */
  readonly acknowledgedId: string;
  readonly acknowledgedMs: number;
  /** As people know who it was. */
  readonly acknowledgedBy: string;
  /** Until then nobody is told of these alerts, Unix milliseconds; 0 where they are not silenced. */
  readonly silencedUntilMs: number;
  readonly silencedBy: string;
}

/** Whether nobody is to be told of the alerts now. */
export const isSilenced = (note: AlertNote | undefined, nowMs: number): boolean => nowMs < (note?.silencedUntilMs ?? 0);

/** Key of the notes about one thing. No part holds a slash. */
export const subjectKey = ({ orgId, sourceId, monitorId, condition }: AlertSubject): string =>
  `${orgId}/${sourceId}/${monitorId}/${condition}`;

/** Says something of an alert that there is. */
export type AlertCommand = Asked &
  AlertSubject & {
    readonly alertId: string;
    readonly does: 'acknowledge' | 'silence';
    /** Of silence; a time that is over ends it. Null otherwise. */
    readonly untilMs: number | null;
  };

export type AlertCommandOutcome = 'acknowledged' | 'silenced' | 'unsilenced' | 'too_many';

export interface AlertNotesState {
  /** By `subjectKey`. */
  readonly notes: ReadonlyMap<string, AlertNote>;
}

export interface AlertEvent {
  readonly outcome: AlertCommandOutcome;
  readonly alertId: string;
  /** Null for a refusal. */
  readonly note: AlertNote | null;
  /** Notes that are forgotten to make room. */
  readonly forgotten: readonly AlertNote[];
}

/** What is said of alerts: the last word counts. */
export const alertDecider: Decider<AlertNotesState, AlertCommand, AlertEvent> = {
  initial: { notes: new Map() },

  decide({ notes }, command, nowMs) {
    const { alertId } = command;
    const known = notes.get(subjectKey(command));
    const forgotten = !known && notes.size >= maxAlertNotes ? oldest(notes.values(), nowMs) : [];
    if (!known && notes.size - forgotten.length >= maxAlertNotes) return [{ outcome: 'too_many', alertId, note: null, forgotten }];
    return [{ ...said(known ?? unsaid(command), command, nowMs), alertId, forgotten }];
  },

  evolve(state, { note, forgotten }) {
    const notes = new Map(state.notes);
    for (const one of forgotten) notes.delete(subjectKey(one));
    if (note) notes.set(subjectKey(note), note);
    return { notes };
  },
};

const unsaid = ({ orgId, sourceId, monitorId, condition }: AlertSubject): AlertNote => ({
  orgId,
  sourceId,
  monitorId,
  condition,
  acknowledgedId: '',
  acknowledgedMs: 0,
  acknowledgedBy: '',
  silencedUntilMs: 0,
  silencedBy: '',
});

function said(note: AlertNote, { does, alertId, untilMs, by }: AlertCommand, nowMs: number): Pick<AlertEvent, 'outcome' | 'note'> {
  const who = by.name || by.id;
  if (does === 'acknowledge') {
    const isSaid = note.acknowledgedId === alertId;
    return {
      outcome: 'acknowledged',
      note: isSaid ? note : { ...note, acknowledgedId: alertId, acknowledgedMs: nowMs, acknowledgedBy: who },
    };
  }
  const isOver = untilMs! <= nowMs;
  return {
    outcome: isOver ? 'unsilenced' : 'silenced',
    note: { ...note, silencedUntilMs: isOver ? 0 : untilMs!, silencedBy: isOver ? '' : who },
  };
}

function oldest(notes: Iterable<AlertNote>, nowMs: number): readonly AlertNote[] {
  const quiet = [...notes].filter((note) => !isSilenced(note, nowMs));
  const lastMs = ({ acknowledgedMs, silencedUntilMs }: AlertNote): number => Math.max(acknowledgedMs, silencedUntilMs);
  return quiet.toSorted((a, b) => lastMs(a) - lastMs(b)).slice(0, forgottenTogether);
}

/** What a command says that makes no sense, in words; undefined when there is nothing. */
export function flawOfAlertCommand({ does, untilMs, askedMs, sourceId, monitorId }: AlertCommand): string | undefined {
  if (/\//.test(sourceId + monitorId)) return 'no id holds a slash';
  if ((does === 'silence') !== (untilMs !== null)) return 'a command to silence alerts says until when, and no other one does';
  return untilMs !== null && untilMs > askedMs + maxSilenceMs ? 'alerts are silenced for 30 days at most' : undefined;
}

import { expect, it } from '@jest/globals';
import {
  alertDecider,
  flawOfAlertCommand,
  isSilenced,
  maxAlertNotes,
  maxSilenceMs,
  subjectKey,
  type AlertCommand,
  type AlertNote,
  type AlertNotesState,
} from './alert-note.js';

const subject = { orgId: 'o', sourceId: 's', monitorId: 'm', condition: 'threshold' } as const;
const by = { id: 'acct', name: 'ann@example.org' };
const acknowledge = (alertId: string): AlertCommand => ({
  ...subject,
  id: 'c',
  askedMs: 1,
  by,
  alertId,
  does: 'acknowledge',
  untilMs: null,
});
const silence = (untilMs: number, sourceId = 's'): AlertCommand => ({ ...acknowledge('a'), sourceId, does: 'silence', untilMs });

function after(commands: readonly AlertCommand[], nowMs: number, state = alertDecider.initial) {
  const outcomes: string[] = [];
  for (const command of commands)
    for (const event of alertDecider.decide(state, command, nowMs)) {
      outcomes.push(event.outcome);
      state = alertDecider.evolve(state, event);
    }
  return { outcomes, state, note: state.notes.get(subjectKey(subject)) };
}

it('an alert is acknowledged by whoever is first, and the next one about the same is not', () => {
  const { state, note } = after([acknowledge('a')], 5);
  expect(note).toMatchObject({ acknowledgedId: 'a', acknowledgedMs: 5, acknowledgedBy: by.name });
  expect(after([{ ...acknowledge('a'), by: { id: 'k', name: '' } }], 6, state).note).toEqual(note);
  expect(after([{ ...acknowledge('b'), by: { id: 'k', name: '' } }], 6, state).note).toMatchObject({
    acknowledgedId: 'b',
    acknowledgedBy: 'k',
  });
});

it('alerts about the same are silenced until a time, the next ones too, and a time that is over ends it', () => {
  const { state, note, outcomes } = after([acknowledge('a'), silence(100), silence(50)], 5);
  expect([outcomes, note]).toMatchObject([['acknowledged', 'silenced', 'silenced'], { acknowledgedId: 'a', silencedUntilMs: 50 }]);
  expect([49, 50].map((ms) => isSilenced(note, ms))).toEqual([true, false]);
  expect(isSilenced(undefined, 0)).toBe(false);
  const ended = after([silence(6)], 6, state);
  expect([ended.outcomes, ended.note]).toMatchObject([['unsilenced'], { silencedUntilMs: 0, silencedBy: '', acknowledgedId: 'a' }]);
});

it('10,000 notes of an organization are known; then the oldest are forgotten that silence nothing', () => {
  const noteOf = (sourceId: string, more: Partial<AlertNote>): readonly [string, AlertNote] => {
    const note = {
      ...subject,
      sourceId,
      acknowledgedId: 'a',
      acknowledgedMs: 1,
      acknowledgedBy: '',
      silencedUntilMs: 0,
      silencedBy: '',
      ...more,
    };
    return [subjectKey(note), note];
  };
  const full = (more: (at: number) => Partial<AlertNote>): AlertNotesState => ({
    notes: new Map(Array.from({ length: maxAlertNotes }, (_, at) => noteOf(`s${at}`, more(at)))),
  });
  const made = after(
    [silence(9, 'new')],
    5,
    full((at) => ({ acknowledgedMs: at, silencedUntilMs: at < 50 ? 9 : 0 })),
  );
  expect([made.outcomes, made.state.notes.size]).toEqual([['silenced'], maxAlertNotes - 19]);
  expect([49, 50, 69, 70].map((at) => made.state.notes.has(subjectKey({ ...subject, sourceId: `s${at}` })))).toEqual([
    true,
    false,
    false,
    true,
  ]);
  expect(
    after(
      [silence(9, 'new'), silence(8, 's1')],
      5,
      full(() => ({ silencedUntilMs: 9 })),
    ).outcomes,
  ).toEqual(['too_many', 'silenced']);
});

it.each([
  ['no time to silence until', { ...silence(5), untilMs: null }],
  ['a time to acknowledge until', { ...acknowledge('a'), untilMs: 5 }],
  ['a time that is too far away', silence(maxSilenceMs + 2)],
  ['a slash in an id', silence(5, 's/t')],
])('a command with %s has a flaw', (_, command) => {
  expect(flawOfAlertCommand(command)).toMatch(/\S/);
  for (const good of [acknowledge('a'), silence(maxSilenceMs + 1)]) expect(flawOfAlertCommand(good)).toBeUndefined();
});

import { describe, expect, it } from '@jest/globals';
import type { Alert } from './alert.js';
import {
  afterAnswer,
  afterBeginning,
  afterNotice,
  afterPause,
  afterSettingBack,
  deliveryMs,
  maxApart,
  maxAttemptsKept,
  maxBurst,
  maxFailingMs,
  maxRetryMs,
  noDeliveries,
  pauseReasonOf,
  retryMs,
  workMs,
  type Answer,
  type TargetDeliveries,
} from './delivery.js';
import { countOf } from './told-alerts.js';
import { maxMisplacedMs } from './delivery-verdict.js';

const threshold = { min: null, max: 80, clearMin: null, clearMax: null, forMs: 0, severity: 'info', message: '' } as const;
const alert = (at: number): Alert => ({
  alertId: `alert_${at.toString(16).padStart(24, '0')}`,
  monitorId: 'm',
  sourceId: 's',
  metric: 'heat',
  value: 99,
  threshold,
  offline: null,
  triggeredMs: at,
  resolvedMs: null,
  resolution: null,
});
const alerts = (count: number, from = 0): Alert[] => Array.from({ length: count }, (_, at) => alert(from + at));

const ok: Answer = { verdict: 'taken', status: 200, error: '', retryAfterMs: 0, tookMs: 5 };
const bad: Answer = { verdict: 'later', status: 500, error: 'no', retryAfterMs: 0, tookMs: 5 };
const empty = noDeliveries('o', 't');
const waiting = (count: number, state = empty, offset = 0): TargetDeliveries =>
  afterNotice(state, { partition: 0, offset }, alerts(count, 1000 * offset));

/** Works for a target that answers so, until nothing is due by a time. Resolves with the transitions of each delivery, and when it began. */
function run(
  state: TargetDeliveries,
  answer: (nowMs: number) => Answer,
  fromMs: number,
  untilMs: number,
): readonly [TargetDeliveries, number[][]] {
  const begun: number[][] = [];
  let now = state;
  for (let nowMs = fromMs; (nowMs = Math.max(nowMs, workMs(now))) <= untilMs;) {
    if (!now.open) {
      now = afterBeginning(now, `d${begun.length}`, nowMs);
      begun.push([nowMs, countOf(now.open!.told)]);
    }
    now = afterAnswer(now, answer(nowMs), nowMs, 0.5);
  }
  return [now, begun];
}

describe('what waits for a target', () => {
  it.each([
    ['a few one by one', 3, [1, 1, 1]],
    ['as many as there may be apart', maxApart, Array<number>(maxApart).fill(1)],
    ['more of them in one', maxApart + 1, [maxApart + 1]],
    ['very many in one', 20_000, [20_000]],
  ] as const)('is told: %s', (_, count, expected) => {
    const [state, begun] = run(waiting(count), () => ok, 5000, 1e9);
    expect(begun.map(([, transitions]) => transitions)).toEqual(expected);
    expect([state.waiting, state.open, workMs(state)]).toEqual([null, null, Infinity]);
  });

  it('is told at the rate of the target', () => {
    let state = empty;
    const times: number[] = [];
    for (let nowMs = 0, offset = 0; nowMs < 100_000; nowMs += 1000, offset++) {
      const [next, begun] = run(waiting(1, state, offset), () => ok, nowMs, nowMs);
      state = next;
      times.push(...begun.map(([ms]) => ms!));
    }
    expect(times.slice(0, maxBurst)).toEqual([0, 1000, 2000, 3000, 4000]);
    expect(times).toHaveLength(maxBurst + 100_000 / deliveryMs - 1);
  });

  it('waits once, however often its record comes', () => {
    const place = { partition: 3, offset: 7 };
    const state = afterNotice(empty, place, alerts(1));
    expect(afterNotice(state, place, alerts(1))).toBe(state);
    expect(afterNotice(state, { ...place, offset: 6 }, alerts(1))).toBe(state);
    expect(countOf(afterNotice(state, { partition: 2, offset: 0 }, alerts(1)).waiting!)).toBe(2);
  });
});

describe('a clock that is set back', () => {
  it.each([
    ['by a day', 86_400_000, true],
    ['by a minute', 60_000, true],
    ['by a second', 1000, false],
  ])('%s keeps nothing that waits for longer than the rate does', (_, backMs, isDueNow) => {
    const nowMs = 1e12 - backMs;
    const state = afterSettingBack(waiting(2, run(waiting(1), () => ok, 1e12, 1e12)[0], 1), nowMs);
    expect([workMs(state) <= nowMs, state.dueMs <= nowMs]).toEqual([true, isDueNow]);
    const next = afterBeginning(state, 'd', nowMs);
    expect(next.dueMs).toBeLessThanOrEqual(nowMs + maxBurst * deliveryMs);
  });

  it('keeps an attempt that is to be made again for as long as a pause may be', () => {
    const state = afterAnswer(afterBeginning(waiting(1), 'd', 1e12), { ...bad, retryAfterMs: maxRetryMs }, 1e12, 0.5);
    expect([1, 1000, maxRetryMs].map((backMs) => workMs(afterSettingBack(state, 1e12 - backMs)))).toEqual(
      [1, 1000, maxRetryMs].map((backMs) => 1e12 - backMs),
    );
    expect(afterSettingBack(state, 1e12)).toBe(state);
  });
});

describe('an attempt that fails', () => {
  const failing = (): TargetDeliveries => afterAnswer(afterBeginning(waiting(1), 'd', 0), bad, 0, 0.5);

  it('is made again, of the same, until it succeeds', () => {
    const first = failing();
    const again = afterAnswer(waiting(3, first, 1), bad, 1500, 0.5);
    expect([again.open!.id, again.open!.told, again.failingSinceMs]).toEqual(['d', first.open!.told, 0]);
    const done = afterAnswer(again, ok, 5000, 0.5);
    expect([done.open, done.failingSinceMs, countOf(done.waiting!)]).toEqual([null, null, 3]);
    expect(done.attempts.map(({ outcome, againMs }) => [outcome, againMs])).toEqual([
      ['failed', 1500],
      ['failed', 4500],
      ['delivered', null],
    ]);
  });

  it.each([
    [0, 0, 1000],
    [0, 1, 2000],
    [1, 0.5, 3000],
    [5, 0, 32_000],
    [11, 1, maxRetryMs],
    [500, 0, maxRetryMs / 2],
  ])('is made again after %i failures and random %d in %i ms', (failed, random, expected) => {
    expect(retryMs(failed, random)).toBe(expected);
  });

  it.each([
    [30_000, 30_000],
    [10 * maxRetryMs, maxRetryMs],
  ])('waits as the target asks for %i ms: %i', (retryAfterMs, expected) => {
    expect(workMs(afterAnswer(afterBeginning(waiting(1), 'd', 0), { ...bad, retryAfterMs }, 0, 0.5))).toBe(expected);
  });

  it('for a day is the last, and what waits is given up with it', () => {
    const [state, begun] = run(waiting(1), (nowMs) => (nowMs > maxFailingMs + maxRetryMs ? ok : bad), 0, 1e12);
    expect([begun.length, state.open, pauseReasonOf(state)]).toEqual([1, null, 'failing']);
    const { atMs, outcome } = state.attempts.at(-1)!;
    expect([outcome, atMs >= maxFailingMs, atMs < maxFailingMs + maxRetryMs]).toEqual(['given_up', true, true]);
    expect(state.attempts.length).toBeGreaterThan(30);
    expect(state.attempts.length).toBeLessThan(maxAttemptsKept);
    expect(pauseReasonOf(afterAnswer(failing(), ok, 1, 0))).toBeUndefined();
  });

  it('of a delivery that is refused for good is the last, and the next one begins', () => {
    const state = afterAnswer(afterBeginning(waiting(3), 'd', 0), { ...bad, verdict: 'refused', status: 400 }, 0, 0.5);
    expect([state.open, countOf(state.waiting!), pauseReasonOf(state)]).toEqual([null, 2, undefined]);
    expect(state.attempts).toMatchObject([{ outcome: 'refused', status: 400, transitions: 1, againMs: null }]);
    expect(workMs(state)).toBeLessThanOrEqual(0);
    const [done, begun] = run(state, () => ok, 0, 1e9);
    expect([begun.length, done.failingSinceMs]).toEqual([2, null]);
  });

  it('of a target that has taken nothing for a day is the last also where it refuses', () => {
    const refusal: Answer = { ...bad, verdict: 'refused', status: 400 };
    const state = afterAnswer(afterBeginning(waiting(2), 'd', 0), refusal, 0, 0.5);
    const later = afterAnswer(afterBeginning(waiting(2, state, 1), 'e', maxFailingMs / 2), refusal, maxFailingMs / 2, 0.5);
    const next = afterAnswer(afterBeginning(later, 'f', maxFailingMs), refusal, maxFailingMs, 0.5);
    expect([next.attempts.at(-1)!.outcome, pauseReasonOf(next)]).toEqual(['given_up', 'failing']);
  });

  it.each([
    ['a day of silence', maxFailingMs],
    ['an hour', maxRetryMs],
  ])('after a refusal and %s is the first of a day of attempts', (_, afterMs) => {
    const refused = afterAnswer(afterBeginning(waiting(1), 'd', 0), { ...bad, verdict: 'refused', status: 400 }, 0, 0.5);
    const [state] = run(waiting(1, refused, 1), () => bad, afterMs, 1e12);
    expect(state.attempts.length).toBeGreaterThan(30);
    expect(state.attempts.at(-1)!.atMs).toBeGreaterThanOrEqual(afterMs + maxFailingMs);
  });

  it('after a refusal and a day of silence is a refusal only', () => {
    const refusal: Answer = { ...bad, verdict: 'refused', status: 400 };
    const refused = afterAnswer(afterBeginning(waiting(1), 'd', 0), refusal, 0, 0.5);
    const state = afterAnswer(afterBeginning(waiting(1, refused, 1), 'e', maxFailingMs), refusal, maxFailingMs, 0.5);
    expect(pauseReasonOf(state)).toBeUndefined();
  });

  it('to an address that is not allowed is the last, and the next one begins', () => {
    const blocked: Answer = { ...bad, verdict: 'blocked', status: null };
    const state = afterAnswer(afterBeginning(waiting(3), 'd', 0), blocked, 0, 0.5);
    expect([state.open, countOf(state.waiting!), pauseReasonOf(state)]).toEqual([null, 2, undefined]);
    expect(state.attempts).toMatchObject([{ outcome: 'blocked', status: null, againMs: null }]);
  });

  it('in a place where nobody takes deliveries is made again for ten minutes', () => {
    const lost: Answer = { ...bad, verdict: 'misplaced', status: 404 };
    const [state, begun] = run(waiting(1), () => lost, 0, 1e12);
    expect([begun.length, state.open, pauseReasonOf(state)]).toEqual([1, null, undefined]);
    expect(state.attempts.map(({ outcome }) => outcome)).toEqual([...Array<string>(state.attempts.length - 1).fill('failed'), 'refused']);
    const { atMs } = state.attempts.at(-1)!;
    expect([atMs >= maxMisplacedMs, atMs < 3 * maxMisplacedMs, state.attempts.length > 8]).toEqual([true, true, true]);
    const [mended] = run(waiting(1), (nowMs) => (nowMs < 60_000 ? lost : ok), 0, 1e12);
    expect(mended.attempts.at(-1)!.outcome).toBe('delivered');
  });

  it('of a target that is gone is the last, and what waits is given up with it', () => {
    const state = afterAnswer(afterBeginning(waiting(3), 'd', 0), { ...bad, verdict: 'gone', status: 410 }, 0, 0.5);
    expect([state.open, state.waiting, workMs(state), pauseReasonOf(state)]).toEqual([null, null, Infinity, 'gone']);
    expect(state.attempts).toMatchObject([{ outcome: 'gone', status: 410, transitions: 3, againMs: null }]);
  });

  it('for its size leaves out the names, under another id', () => {
    const big = afterBeginning(waiting(50), 'd', 0);
    const tooLarge: Answer = { ...bad, verdict: 'refused', status: 413 };
    const smaller = afterAnswer(big, tooLarge, 0, 0.5);
    const { open } = smaller;
    expect([open!.id, open!.told.names, countOf(open!.told)]).toEqual(['d_s', '', 50]);
    expect(afterAnswer(smaller, tooLarge, 0, 0.5)).toMatchObject({ open: null, attempts: [{ outcome: 'failed' }, { outcome: 'refused' }] });
  });
});

describe('what is kept', () => {
  it('is the last attempts', () => {
    let state = empty;
    for (let at = 0; at < maxAttemptsKept + 9; at++) state = afterAnswer(afterBeginning(waiting(1, state, at), `d${at}`, at), ok, at, 0);
    expect([state.attempts.length, state.attempts[0]!.deliveryId]).toEqual([maxAttemptsKept, 'd9']);
  });

  it('of a target that is paused is nothing that waits', () => {
    const state = afterPause(waiting(2, afterBeginning(waiting(9), 'd', 0), 1));
    expect([state.open, state.waiting, workMs(state)]).toEqual([null, null, Infinity]);
    expect(afterPause(state)).toBe(state);
  });
});

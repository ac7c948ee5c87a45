import type { Alert } from './alert.js';
import type { PauseReason } from './alert-target.js';
import { countOf, firstTold, type Telling, type ToldAlerts, toldTogether } from './told-alerts.js';
import { maxMisplacedMs, type DeliveryVerdict } from './delivery-verdict.js';

/** A target that fails for so long is paused, and what waited for it is given up. After a silence of so long a failure counts as the first. */
export const maxFailingMs = 86_400_000;
/** The time between two attempts: at first, and at most. */
export const minRetryMs = 1000;
export const maxRetryMs = 3_600_000;
/** After a pause so many deliveries may go to a target one behind the other; then one in each `deliveryMs`. */
export const maxBurst = 5;
export const deliveryMs = 10_000;
/** So many transitions that wait are told one by one; more of them in one delivery. */
export const maxApart = 5;
/** Attempts of each target that are kept. */
export const maxAttemptsKept = 50;
export const maxAnswerChars = 200;

/** What became of an attempt. After `refused` and `blocked` its delivery is over; after `gone` and `given_up` the target is paused too. */
export const attemptOutcomes = ['delivered', 'failed', 'given_up', 'refused', 'gone', 'blocked'] as const;
export type AttemptOutcome = (typeof attemptOutcomes)[number];

export interface Attempt {
  readonly deliveryId: string;
  readonly atMs: number;
  readonly tookMs: number;
  /** How many transitions it told. */
  readonly transitions: number;
  readonly isTest: boolean;
  readonly outcome: AttemptOutcome;
  /** Of HTTP or SMTP; null where there was no answer. */
  readonly status: number | null;
  /** What was wrong, for people; empty when nothing was. At most `maxAnswerChars`. */
  readonly error: string;
  /** When it is tried again, Unix milliseconds; null when it is not. */
  readonly againMs: number | null;
}

/** What a target has answered. */
export interface Answer {
  readonly verdict: DeliveryVerdict;
  readonly status: number | null;
  readonly error: string;
  /** How long the target asks us to wait. */
  readonly retryAfterMs: number;
  readonly tookMs: number;
}

/** A delivery that has begun: what it tells never changes, so that a target may know it again by its id. */
export interface Delivery extends Telling {
  /** Attempts that have failed. */
  readonly failed: number;
  readonly nextMs: number;
}

/** Where a record of `alerts.v1` stands. */
export interface AlertPlace {
  readonly partition: number;
  readonly offset: number;
}

/** All that is to be told to one target, and what has been. One delivery is under way at a time, in the order of the transitions. */
export interface TargetDeliveries {
  readonly orgId: string;
  readonly targetId: string;
  /** By partition of `alerts.v1`: the next offset of which nothing is known here. */
  readonly nextOffsets: Float64Array;
  readonly waiting: ToldAlerts | null;
  readonly open: Delivery | null;
  /** When a delivery may begin at the rate of the target, had there been no pause before; Unix milliseconds. */
  readonly dueMs: number;
  /** Since when every attempt has failed, Unix milliseconds; null when the last one has not. */
  readonly failingSinceMs: number | null;
  /** The last `maxAttemptsKept`, oldest first. */
  readonly attempts: readonly Attempt[];
}

export const noDeliveries = (orgId: string, targetId: string): TargetDeliveries => ({
  orgId,
  targetId,
  nextOffsets: new Float64Array(),
  waiting: null,
  open: null,
  dueMs: 0,
  failingSinceMs: null,
  attempts: [],
});

/** Transitions wait from now on. Those of a record that was known before wait no second time. */
export function afterNotice(state: TargetDeliveries, { partition, offset }: AlertPlace, alerts: readonly Alert[]): TargetDeliveries {
  if (offset < (state.nextOffsets[partition] ?? 0)) return state;
  const nextOffsets = new Float64Array(Math.max(state.nextOffsets.length, partition + 1));
  nextOffsets.set(state.nextOffsets);
  nextOffsets[partition] = offset + 1;
  return { ...state, nextOffsets, waiting: toldTogether(state.waiting, alerts) };
}

/** How many transitions are to be told, those of the delivery that is under way among them. */
export const waitingIn = ({ open, waiting }: TargetDeliveries): number =>
  (open ? countOf(open.told) : 0) + (waiting ? countOf(waiting) : 0);

/** When something is to be done for a target, Unix milliseconds; `Infinity` for never. */
export function workMs({ open, waiting, dueMs }: TargetDeliveries): number {
  if (open) return open.nextMs;
  return waiting ? dueMs - (maxBurst - 1) * deliveryMs : Infinity;
}

/**
 * The state for a clock that may have been set back. A delivery is never due more than `maxBurst * deliveryMs` ahead, and an attempt never more than
 * `maxRetryMs`: a time beyond that was made by the clock as it was before, and becomes now.
 *
 * @param nowMs Unix milliseconds.
 */
export function afterSettingBack(state: TargetDeliveries, nowMs: number): TargetDeliveries {
  const { open, dueMs } = state;
  const isTooFar = dueMs > nowMs + maxBurst * deliveryMs;
  const isOpenTooFar = open !== null && open.nextMs > nowMs + maxRetryMs;
  if (!isTooFar && !isOpenTooFar) return state;
  return { ...state, dueMs: isTooFar ? nowMs : dueMs, open: isOpenTooFar ? { ...open, nextMs: nowMs } : open };
}

/** Begins a delivery of what waits: of the first transition, or of all. Only at `workMs`, and where none is open. @param id of the delivery. */
export function afterBeginning(state: TargetDeliveries, id: string, nowMs: number): TargetDeliveries {
  const { waiting } = state;
  if (state.open || !waiting) return state;
  const [told, rest] = countOf(waiting) <= maxApart ? firstTold(waiting) : [waiting, null];
  const open: Delivery = { id, told, isTest: false, madeMs: nowMs, failed: 0, nextMs: nowMs };
  const isLong = nowMs - (state.attempts.at(-1)?.atMs ?? nowMs) >= maxFailingMs;
  const failingSinceMs = isLong ? null : state.failingSinceMs;
  return { ...state, open, waiting: rest, failingSinceMs, dueMs: Math.max(state.dueMs, nowMs) + deliveryMs };
}

/** What an answer makes of the open delivery. @param random from 0 to 1. */
export function afterAnswer(state: TargetDeliveries, answer: Answer, nowMs: number, random: number): TargetDeliveries {
  const { open } = state;
  if (!open) return state;
  const { verdict } = answer;
  if (verdict === 'taken') return { ...kept(state, attemptOf(open, answer, nowMs, 'delivered')), open: null, failingSinceMs: null };
  const failing = { ...state, failingSinceMs: state.failingSinceMs ?? nowMs };
  if (verdict === 'gone') return withoutAll(failing, attemptOf(open, answer, nowMs, 'gone'));
  // What fails for now is tried for a day of its own, whatever became of the delivery before it.
  const sinceMs = verdict === 'later' ? open.madeMs : failing.failingSinceMs;
  if (nowMs - sinceMs >= maxFailingMs) return withoutAll(failing, attemptOf(open, answer, nowMs, 'given_up'));
  const next = smaller(open, answer);
  const isMisplaced = verdict === 'misplaced' && nowMs - open.madeMs >= maxMisplacedMs;
  const end = verdict === 'blocked' ? 'blocked' : isMisplaced || (verdict === 'refused' && next === open) ? 'refused' : undefined;
  if (end) return { ...kept(failing, attemptOf(open, answer, nowMs, end)), open: null };
  const nextMs = nowMs + Math.max(retryMs(open.failed, random), Math.min(answer.retryAfterMs, maxRetryMs));
  const attempt = attemptOf(open, answer, nowMs, 'failed', nextMs);
  return { ...kept(failing, attempt), open: { ...next, failed: open.failed + 1, nextMs } };
}

/** Why the target is to be paused by its last attempt: nothing more is told to it until somebody asks for that. Undefined where it is not. */
export function pauseReasonOf({ attempts, open }: TargetDeliveries): Exclude<PauseReason, 'asked'> | undefined {
  const outcome = open === null ? attempts.at(-1)?.outcome : undefined;
  if (outcome === 'gone') return 'gone';
  return outcome === 'given_up' ? 'failing' : undefined;
}

/** A test is sent once, and nothing waits for it. */
export const afterTest = (state: TargetDeliveries, telling: Telling, answer: Answer, nowMs: number): TargetDeliveries =>
  kept(state, attemptOf(telling, answer, nowMs, answer.verdict === 'taken' ? 'delivered' : 'failed'));

/** Nothing is told to a target that is paused. What waited is forgotten. */
export const afterPause = (state: TargetDeliveries): TargetDeliveries =>
  state.open || state.waiting || state.failingSinceMs !== null ? { ...state, open: null, waiting: null, failingSinceMs: null } : state;

/** Milliseconds until the next attempt: twice as long each time, and from half of that on, so that many do not come at once. */
export function retryMs(failed: number, random: number): number {
  const most = Math.min(2 * minRetryMs * 2 ** Math.min(failed, 30), maxRetryMs);
  return Math.round(most * (0.5 + random / 2));
}

/** A body that was refused for its size has not been read: the next one has no list of names, and another id. */
const smaller = (open: Delivery, { status }: Answer): Delivery =>
  status === 413 && open.told.names !== '' ? { ...open, id: `${open.id}_s`, told: { ...open.told, names: '' } } : open;

function attemptOf(telling: Telling, answer: Answer, nowMs: number, outcome: AttemptOutcome, againMs: number | null = null): Attempt {
  const { id: deliveryId, told, isTest } = telling;
  const { status, tookMs } = answer;
  const error = answer.verdict === 'taken' ? '' : answer.error.slice(0, maxAnswerChars).toWellFormed();
  return { deliveryId, atMs: nowMs, tookMs, transitions: countOf(told), isTest, outcome, status, error, againMs };
}

/** What waits is given up with the last attempt. */
function withoutAll(state: TargetDeliveries, attempt: Attempt): TargetDeliveries {
  return { ...kept(state, { ...attempt, transitions: waitingIn(state) }), open: null, waiting: null };
}

const kept = (state: TargetDeliveries, attempt: Attempt): TargetDeliveries => ({
  ...state,
  attempts: [...state.attempts, attempt].slice(-maxAttemptsKept),
});

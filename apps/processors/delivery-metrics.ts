import {
  attemptOutcomes,
  counter,
  gauge,
  pauseReasons,
  targetKinds,
  type AttemptOutcome,
  type Metric,
  type PauseReason,
  type Sample,
  type TargetKind,
} from '#model';

/** Attempts since the start, without those that somebody has asked for as a test. */
export class AttemptCounts {
  readonly #counts = new Map(targetKinds.map((kind) => [kind, new Map(attemptOutcomes.map((outcome) => [outcome, 0]))]));

  add(kind: TargetKind, outcome: AttemptOutcome): void {
    const ofKind = this.#counts.get(kind)!;
    ofKind.set(outcome, ofKind.get(outcome)! + 1);
  }

  samples(): readonly Sample[] {
    return Array.from(this.#counts, ([kind, counts]) =>
      Array.from(counts, ([outcome, value]) => ({ labels: { kind, outcome }, value })),
    ).flat();
  }
}

/** The targets that a process tells, as they are now. */
export interface TargetFigures {
  /** Targets that something waits for, or that are being told. */
  readonly waiting: number;
  /** Transitions that are not told yet. */
  readonly transitions: number;
  /** When the oldest delivery was made that has begun and has not ended, Unix milliseconds; undefined when there is none. */
  readonly oldestMs: number | undefined;
  readonly paused: ReadonlyMap<PauseReason, number>;
}

/** @param figures of the targets that this process tells: those of all processes add up. */
export const deliveryMetrics = (attempts: AttemptCounts, figures: () => TargetFigures, clock: () => number): readonly Metric[] => [
  counter(
    'headwater_delivery_attempts',
    'Attempts to tell targets of alerts since the start, by kind of target and outcome; refused, blocked, gone and given_up are the last of their delivery.',
    () => attempts.samples(),
  ),
  gauge('headwater_delivery_waiting_targets', 'Targets of alerts that something waits for.', () => figures().waiting),
  gauge(
    'headwater_delivery_waiting_transitions',
    'Transitions of alerts that wait for targets, once for each target.',
    () => figures().transitions,
  ),
  gauge(
    'headwater_delivery_oldest_seconds',
    'Age of the oldest delivery that has begun and has not ended; one to a target that is away is tried for a day.',
    () => {
      const { oldestMs } = figures();
      return oldestMs === undefined ? 0 : Math.max(0, clock() - oldestMs) / 1000;
    },
  ),
  gauge('headwater_paused_targets', 'Targets of alerts that are told nothing, by the reason.', () => {
    const { paused } = figures();
    return pauseReasons.map((reason) => ({ labels: { reason }, value: paused.get(reason) ?? 0 }));
  }),
];

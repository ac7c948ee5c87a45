/** From the beginning of one flush to that of the next. */
const liveMs = { least: 1000, most: 5000 };
const lateMs = { least: 5000, most: 30_000 };
/**
 * A table that takes longer to apply rows gets them more seldom, so that it is at work for a quarter of the time: as long as a flush of
 * live rows takes at most 1.2 s and one with late rows 7.5 s. Beyond that readers wait no longer, and the table works more.
 */
const timesApply = 4;

/** When rows are due that wait for their time. */
export interface DueMs {
  readonly live: number;
  readonly late: number;
}

/** A flush that readers see. */
export interface Flushed {
  readonly beganMs: number;
  /** From its acceptance until readers saw it. */
  readonly applyMs: number;
  /** Whether it had late rows, whose cost says nothing about the next live ones. */
  readonly late: boolean;
}

/** When rows are due after a flush, on the clock of its beginning. */
export function dueAfter(before: DueMs, { beganMs, applyMs, late }: Flushed): DueMs {
  const next = ({ least, most }: typeof liveMs): number => beganMs + Math.min(most, Math.max(least, timesApply * applyMs));
  return late ? { live: beganMs + liveMs.least, late: next(lateMs) } : { live: next(liveMs), late: before.late };
}

export const CLOCK = Symbol('Clock');
export const MONOTONIC_CLOCK = Symbol('MonotonicClock');

/** Server time, Unix milliseconds. */
export type Clock = () => number;

/** Milliseconds since some moment; never goes back and never jumps. */
export type MonotonicClock = () => number;

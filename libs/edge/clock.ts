export const CLOCK = Symbol('Clock');

/** Server time, Unix milliseconds. */
export type Clock = () => number;

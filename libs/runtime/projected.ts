import { events, points } from '#topics';

/** The groups of a generation, without its suffix, and what they read. */
export const projected = [
  { name: 'series', topic: points },
  { name: 'events', topic: events },
] as const;

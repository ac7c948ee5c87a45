/** The fields of bodies and points that mean something, a bit each. */
export const field = { source_id: 1, points: 2, metric: 4, value: 8, timestamp: 16, tags: 32, class: 64 } as const;

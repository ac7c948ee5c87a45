export * from './compare.js';
export * from './event-store.js';
export * from './generation-store.js';
export * from './generations.js';
export * from './in-turns.js';
export * from './name-room.js';
export * from './series-store.js';

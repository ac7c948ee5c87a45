export * from './event-store.js';
export * from './series-store.js';

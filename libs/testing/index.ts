export * from './event-store.contract.js';
export * from './eventually.js';
export * from './memory-log.js';
export * from './start-embedded.js';

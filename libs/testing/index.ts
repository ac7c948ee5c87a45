export * from './eventually.js';
export * from './memory-log.js';

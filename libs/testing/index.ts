export * from './memory-log.js';

export * from './rollup-database.js';
export * from './rollups.js';
export * from './window-set.js';

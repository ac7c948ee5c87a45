export * from './map-view.js';
export * from './newest-values.js';
export * from './partition.js';
export * from './processor.js';
export * from './record-log.js';
export * from './runner.js';
export * from './topic.js';
export * from './view.js';

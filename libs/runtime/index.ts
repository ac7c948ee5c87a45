export * from './backend.js';
export * from './config.js';
export * from './embedded.js';
export * from './health.controller.js';
export * from './logger.js';
export * from './run.js';
export * from './settings.js';
export * from './start.js';

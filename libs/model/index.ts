export * from './errors.js';
export * from './organization.js';
export * from './point.js';
export * from './source.js';
export * from './window.js';

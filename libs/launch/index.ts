export * from './as-server.js';
export * from './own-node.js';

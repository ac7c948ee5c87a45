export * from './own-node.js';

export * from './avro.js';
export * from './codec.js';
export * from './deletion.js';
export * from './groups.js';
export * from './schema-files.js';
export * from './schema-registry.js';
export * from './topics.js';

export type { KafkaAddress, Sasl } from './client.js';
export { openKafka, type KafkaOptions, type KafkaStorage } from './open-kafka.js';
export type { RegistryAddress } from './registry/registry-api.js';

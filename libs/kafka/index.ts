export type { KafkaAddress } from './client.js';
export type { DeadLetter, DeadLetters, Purge, Purged, Redriven } from './dead-letters.js';
export { TopicMismatch } from './ensure-topics.js';
export { openKafka, type KafkaOptions, type KafkaStorage } from './open-kafka.js';
export { redriveGroup, RedriveRefused } from './redrive-place.js';
export type { RegistryAddress } from './registry/registry-api.js';
export type { Ends, Groups } from './groups.js';

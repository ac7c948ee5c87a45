export { fetchServers } from './fetch-servers.js';
export { freePorts, isFree } from './free-ports.js';
export { images } from './images.js';
export { endWithUs, JavaServer, smallHeap } from './java-server.js';
export { asEnvironment, kafkaSettings, startKafka, type KafkaOptions, type KafkaServers } from './kafka.js';
export { fetched, java } from './maven.js';
export { questDbSettings, startQuestDb, type QuestDbOptions, type QuestDbServer } from './questdb.js';
export { startRegistry, type RegistryServer } from './registry.js';
export type { Servers } from './servers.js';

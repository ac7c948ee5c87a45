import { describe } from '@jest/globals';
import { jars, serverVariables } from './server-variables.js';

const { env } = process;
const describeWith = (...variables: readonly string[]): typeof describe =>
  variables.every((name) => env[name]) ? describe : (describe.skip as typeof describe);

/** `describe` for suites that need Kafka and a registry; where there are none the suite is named as not run. */
export const describeOnKafka = describeWith(serverVariables.HEADWATER_KAFKA_BROKERS, serverVariables.HEADWATER_REGISTRY_URL);

/** `describe` for suites that need QuestDB too. */
export const describeOnServers = describeWith(...Object.values(serverVariables));

/** `describe` for suites that start servers of their own, to kill them. */
export const describeOnOwnServers = describeWith(jars);

/** How roles are told of the servers. */
export const serverEnvironment = (): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(serverVariables).map(([variable, ours]) => [variable, env[ours]!]));

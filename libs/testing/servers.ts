import { describe } from '@jest/globals';
import { serverVariables } from './server-variables.js';

/** `describe` for suites that need Kafka and a registry; where there are none the suite is named as not run. */
export const describeOnKafka = process.env[serverVariables.kafka] ? describe : describe.skip;

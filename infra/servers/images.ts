import { artifact as kafka } from './kafka.js';
import { artifact as questDb } from './questdb.js';
import { artifact as registry } from './registry.js';

/** The servers as container images, of the versions that the jars have. */
export const images = {
  kafka: `apache/kafka:${kafka.version}`,
  registry: `apicurio/apicurio-registry:${registry.version}`,
  questDb: `questdb/questdb:${questDb.version}`,
};

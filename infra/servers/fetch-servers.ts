import { artifact as kafka } from './kafka.js';
import { fetched, java } from './maven.js';
import { artifact as questDb } from './questdb.js';
import { artifact as registry } from './registry.js';

/** Resolves when each server can be started here. Rejects with a sentence when Java or Maven is missing. */
export async function fetchServers(): Promise<void> {
  await java();
  await Promise.all([kafka, registry, questDb].map(fetched));
}

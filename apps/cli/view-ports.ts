import type { ViewPorts } from '#runtime';
import { offline } from './data-folder.js';
import { onDataPlane } from './data-plane.js';

type Runtime = typeof import('#runtime');

/** Works on the views of a stopped server's data folder, or of the data plane where none is named. */
export async function withViews<T>(dir: string | undefined, work: (ports: ViewPorts, runtime: Runtime) => Promise<T>): Promise<T> {
  if (dir === undefined) return onDataPlane((runtime, config) => runtime.withLog(config, (kafka) => work(kafka, runtime)));
  const [{ openStorage }, runtime] = await Promise.all([import('#sqlite'), import('#runtime')]);
  const storage = await offline(dir, () => openStorage(dir));
  try {
    return await work(storage, runtime);
  } finally {
    await storage.close();
  }
}

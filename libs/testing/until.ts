import { eventually } from './eventually.js';

/** Resolves once `holds` says so. Rejects after a generous deadline, naming what was waited for. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(async () => {
    if (!(await holds())) throw new Error(`still not so: ${what}`);
  });
}

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { openLog, readConfig } from '#runtime';
import { eventually } from '../eventually.js';
import { LoadProcess } from '../load/load-process.js';
import { transitionsIn, transitionsInLogs, transitionsOf, watch, watchedLoad } from '../load/watched-load.js';
import { durations } from './durations.js';
import type { Stage } from './stage.js';

const patienceMs = 120_000;

/** Something that breaks while hundreds of monitors are evaluated. In the end each transition that follows from what was sent was told once. */
export async function underMonitors(stage: Stage, fault: () => Promise<void>): Promise<void> {
  const { cluster, client, seed } = stage;
  const devices = watchedLoad(seed, Date.now(), durations.watched);
  const { org_id: orgId } = await client.json<{ org_id: string }>('/api/auth/verify-key');
  const kafka = await openLog(readConfig(cluster.environment), () => undefined);
  const ledger = join(await mkdtemp(join(tmpdir(), 'headwater-watched-')), 'ledger');
  try {
    await watch(kafka.log, orgId, devices);
    const load = new LoadProcess(devices, cluster.urls.ingest, cluster.keys.own, ledger);
    try {
      await stage.acknowledges(load);
      await fault();
      await stage.acknowledges(load);
      await load.stop();
    } finally {
      load.kill();
    }
    const expected = transitionsOf(devices, load.acknowledged());
    expect(expected.length).toBeGreaterThan(devices.devices);
    // Other devices go on sending, so there is no moment without lag: what is told once is there for good.
    await eventually(async () => expect(await transitionsInLogs(client, devices)).toEqual(expected), patienceMs);
    const { lines, again } = await transitionsIn(kafka.log, devices);
    expect(lines).toEqual(expected);
    process.stderr.write(`${lines.length} transitions, of which ${again} came again with the same alert_id\n`);
  } finally {
    await kafka.close();
  }
}

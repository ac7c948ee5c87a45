import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Slices } from '#edge';
import { entry } from '#log';
import { MemoryLog } from '#testing';
import { gateways, presence } from '#topics';
import { Leftovers } from './leftovers.js';
import { PresenceLog } from './presence-log.js';

const hourMs = 3_600_000;

describe('connections in the log of a gateway that is silent', () => {
  let nowMs: number;
  let log: MemoryLog;
  let leftovers: Leftovers;

  beforeEach(async () => {
    nowMs = 1_000;
    log = new MemoryLog();
    leftovers = new Leftovers(log, log, new PresenceLog(log), new Slices(), undefined, () => nowMs);
    leftovers.begin('own');
    await beat('own', 'other');
    await log.append([entry(presence, { orgId: 'o', sourceId: 's', connectionId: 'c', gatewayId: 'other', connectedMs: 1 })]);
  });

  afterEach(() => leftovers.stop());

  const beat = (...ids: readonly string[]): Promise<void> =>
    log.append(ids.map((gatewayId) => entry(gateways, { gatewayId, beatMs: nowMs })));

  /** These gateways are heard all the time. */
  async function pass(ms: number, ...ids: readonly string[]): Promise<void> {
    for (const endMs = nowMs + ms; nowMs < endMs; await beat(...ids)) nowMs += Math.min(15_000, endMs - nowMs);
  }

  /** What is left in the log after they were cleared. */
  async function left(): Promise<readonly [connection: boolean, gateway: boolean]> {
    await leftovers.clear();
    return [log.open(presence).get('o/s/c') !== undefined, log.open(gateways).get('other') !== undefined];
  }

  it('are taken out after an hour, and the gateway too', async () => {
    await pass(hourMs - 1_000, 'own');
    expect(await left()).toEqual([true, true]);
    await pass(1_000, 'own');
    expect(await left()).toEqual([false, false]);
  });

  it('stay while it is heard', async () => {
    await pass(2 * hourMs, 'own', 'other');
    expect(await left()).toEqual([true, true]);
  });

  it('stay when the one who looks has heard nobody for that hour, until it has heard itself for one', async () => {
    nowMs += hourMs;
    expect(await left()).toEqual([true, true]);
    // It hears itself first, and the other one a little later.
    await beat('own');
    expect(await left()).toEqual([true, true]);
    await pass(hourMs - 15_000, 'own');
    expect(await left()).toEqual([true, true]);
    await pass(15_000, 'own');
    expect(await left()).toEqual([false, false]);
  });
});

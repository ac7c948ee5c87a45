import { describe, expect, it } from '@jest/globals';
import { entry, tombstone } from '#log';
import { atOnce } from '#model';
import { MemoryLog } from '#testing';
import { gateways, presence } from '#topics';
import { Connections } from './presence.js';

const nowMs = 1_700_000_000_000;
const connection = (sourceId: string, connectionId: string, connectedMs: number, gatewayId = 'g') => ({
  orgId: 'o',
  sourceId,
  connectionId,
  gatewayId,
  connectedMs,
});

/** A follower of a log that holds these heartbeats already. */
async function follow(...beats: readonly (readonly [gatewayId: string, beatMs: number])[]) {
  const log = new MemoryLog();
  const time = { monotonicMs: 0 };
  log.open(gateways);
  await log.append(beats.map(([gatewayId, beatMs]) => entry(gateways, { gatewayId, beatMs })));
  const connections = new Connections(
    log,
    () => nowMs,
    () => time.monotonicMs,
  );
  await connections.ready;
  return { log, time, connections };
}

const caller = { orgId: 'o', keyId: 'k', scopes: [] };

describe('connections', () => {
  it('end with their tombstone, the newest first', async () => {
    const { log, connections } = await follow(['g', nowMs]);
    const [old, fresh] = [connection('s', 'a', 1), connection('s', 'b', 2)];
    await log.append([entry(presence, fresh), entry(presence, old)]);
    expect(connections.newest('o', 's')).toEqual(fresh);
    await log.append([tombstone(presence, presence.key(fresh))]);
    expect(connections.newest('o', 's')).toEqual(old);
    await log.append([tombstone(presence, presence.key(old))]);
    expect(connections.newest('o', 's')).toBeUndefined();
  });

  it('of one source and one organization are not those of another whose name begins alike', async () => {
    const { log, connections } = await follow(['g', nowMs]);
    await log.append([entry(presence, connection('pump-1', 'a', 1)), entry(presence, { ...connection('pump', 'b', 1), orgId: 'o2' })]);
    expect(connections.newest('o', 'pump')).toBeUndefined();
    expect([...atOnce(connections.online(caller))]).toEqual(['pump-1']);
  });

  it('end with their gateway: when it says so, or 20 s after its last heartbeat arrived, whatever that says of its time', async () => {
    const { log, time, connections } = await follow();
    await log.append([entry(presence, connection('s', 'a', 1)), entry(presence, connection('t', 'b', 1, 'h'))]);
    await log.append([entry(gateways, { gatewayId: 'g', beatMs: 0 }), entry(gateways, { gatewayId: 'h', beatMs: 9e12 })]);
    expect([...atOnce(connections.online(caller))]).toEqual(['s', 't']);
    await log.append([tombstone(gateways, 'h')]);
    expect([...atOnce(connections.online(caller))]).toEqual(['s']);
    time.monotonicMs += 20_000;
    expect([...atOnce(connections.online(caller))]).toEqual([]);
    await log.append([entry(gateways, { gatewayId: 'g', beatMs: 1 })]);
    expect([...atOnce(connections.online(caller))]).toEqual(['s']);
  });

  it('of gateways that fell silent long before the start do not count', async () => {
    const { log, connections } = await follow(['fresh', nowMs - 19_999], ['stale', nowMs - 20_000], ['ahead', nowMs + 20_000]);
    await log.append(['fresh', 'stale', 'ahead'].map((gatewayId) => entry(presence, connection(gatewayId, 'c', 1, gatewayId))));
    expect([...atOnce(connections.online(caller))]).toEqual(['fresh']);
  });
});

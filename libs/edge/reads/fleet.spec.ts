import { expect, it } from '@jest/globals';
import { entry } from '#log';
import { atOnce } from '#model';
import { MemoryLog } from '#testing';
import { gateways, presence, sources } from '#topics';
import { Connections } from '../presence.js';
import { Readiness } from '../readiness.js';
import { Fleet } from './fleet.js';

const nowMs = 1_700_000_000_000;
const orgId = 'o';
const caller = { orgId, keyId: 'k', scopes: [] };
const many = 5_000;
const mostInPage = 2_048;

const named = (prefix: string, count = many): string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}${String(at).padStart(4, '0')}`);

/** A fleet of sources that have sent something and are offline, and others that are connected and never have. */
async function fleetOf(heard: readonly string[], silent: readonly string[]) {
  const log = new MemoryLog();
  const connections = new Connections(log, () => nowMs);
  const fleet = new Fleet(log, connections, new Readiness());
  await connections.ready;
  await log.append([
    entry(gateways, { gatewayId: 'g', beatMs: nowMs }),
    ...heard.map((sourceId) => entry(sources, { orgId, sourceId, firstReceivedMs: nowMs, lastReceivedMs: nowMs })),
    ...silent.map((sourceId) => entry(presence, { orgId, sourceId, connectionId: 'c', gatewayId: 'g', connectedMs: nowMs })),
  ]);
  return { fleet, online: atOnce(fleet.online(caller)) };
}

it.each<[string, readonly string[], readonly string[]]>([
  ['none has sent anything', [], named('a')],
  ['the silent ones come first', named('b', 3), named('a')],
  ['they come last', named('b', 3), named('c')],
  ['they come between two', ['a', 'c'], named('b')],
  ['they come in turn with the others', named('a'), named('a').map((sourceId) => `${sourceId}.1`)],
])('many sources are listed in order, a few at a time, with those that have never sent anything: %s', async (_, heard, silent) => {
  const { fleet, online } = await fleetOf(heard, silent.toReversed());
  const pages = [...fleet.members(caller, online)];
  expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(mostInPage);
  expect(pages.flat()).toEqual(
    [
      ...heard.map((sourceId) => ({ sourceId, online: false, lastSeenMs: nowMs })),
      ...silent.map((sourceId) => ({ sourceId, online: true, lastSeenMs: null })),
    ].toSorted((a, b) => (a.sourceId < b.sourceId ? -1 : 1)),
  );
  expect(atOnce(fleet.count(caller, online))).toBe(heard.length + silent.length);
});

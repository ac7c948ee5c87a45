import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { type AnyTopic, entry, tombstone } from '#log';
import { onlyGeneration, type Stores } from '#stores';
import { makeOrganization, MemoryLog } from '#testing';
import {
  accounts,
  alertNotes,
  alertTargets,
  apiKeys,
  audit,
  claims,
  commandStates,
  decisions,
  deliveries,
  events,
  invitations,
  keyDecisions,
  memberships,
  monitors,
  monitorStates,
  noticedSources,
  organizations,
  outcomes,
  points,
  presence,
  sourceAlerts,
  sources,
  topics,
} from '#topics';
import { DeletedOrganizations } from './deleted-organizations.js';

const hourMs = 3_600_000;
const defined: readonly AnyTopic[] = [apiKeys, memberships, invitations, claims, monitors, alertTargets, deliveries, alertNotes];
const ofSources: readonly AnyTopic[] = [sources, presence, commandStates, monitorStates, sourceAlerts, noticedSources];
const told: readonly AnyTopic[] = [keyDecisions, decisions, outcomes, audit];
const owned = [...defined, ...ofSources, ...told];

let log: MemoryLog;
let nowMs: number;
let prepared: number;
let deleted: DeletedOrganizations;
beforeEach(async () => {
  // The eraser looks for deleted organizations only when a test moves the timers.
  jest.useFakeTimers();
  log = new MemoryLog();
  nowMs = Date.UTC(2026, 0, 1);
  prepared = 0;
  for (const topic of [...owned, accounts, organizations]) log.open(topic);
  const generations = onlyGeneration({} as Stores, () => void prepared++);
  deleted = new DeletedOrganizations(log, log, generations, () => nowMs);
  for (const orgId of ['gone', 'other']) {
    await makeOrganization(log, true, orgId);
    const ids = Object.fromEntries(
      ['key', 'account', 'invitation', 'claim', 'monitor', 'target'].map((of) => [`${of}Id`, `${orgId}-${of}`]),
    );
    const value = { ...ids, orgId, sourceId: 's', connectionId: 'c', commandId: 'c', condition: 'offline', area: 'monitors', id: 'i' };
    await log.append([...owned.map((topic) => entry(topic, value)), entry(accounts as AnyTopic, value)]);
  }
});
afterEach(() => {
  deleted.onApplicationShutdown();
  jest.useRealTimers();
});

const has = (orgId: string): string[] =>
  owned
    .filter((topic) => [...log.open(topic).scan('')].some(([, value]) => (value as { orgId: string }).orgId === orgId))
    .map(({ name }) => name);
const names = (some: readonly AnyTopic[]): string[] => some.map(({ name }) => name);
const deletions = (): string[] =>
  log.entries
    .filter(({ topic, value }) => [points.name, events.name].includes(topic.name) && value)
    .map(({ topic, key }) => `${topic.name} ${key}`);
const end = async (): Promise<void> => {
  const before = log.open(organizations).get('gone')!;
  await log.append([entry(organizations, { ...before, paymentMethodOnFile: false, deletedMs: nowMs })]);
};

it('names every compacted topic that has something of organizations', () => {
  const ofNone = ['accounts', 'gateways', 'key-uses', 'organizations', 'projections', 'session-uses', 'sessions'];
  const compacted = topics.filter(({ cleanup }) => cleanup === 'compact').map(({ name }) => name);
  expect(names(owned).toSorted()).toEqual(compacted.filter((name) => !ofNone.includes(name.replace('.v1', ''))).toSorted());
});

it('touches nothing while no organization is deleted', async () => {
  expect([await deleted.look(), has('gone'), has('other'), deletions(), prepared]).toEqual([false, names(owned), names(owned), [], 0]);
});

it('removes what a deleted one has, its sources by their deletions, and after an hour what was said of it and itself', async () => {
  await end();
  expect(await deleted.look()).toBe(true);
  expect(has('gone')).toEqual([sources.name, ...names(told)]);
  expect([...new Set(deletions())].toSorted()).toEqual([`${events.name} gone/s`, `${points.name} gone/s`]);
  expect([log.open(accounts).get('gone-account'), log.open(accounts).get('other-account')]).toEqual([undefined, expect.anything()]);
  const before = deletions().length;
  expect([await deleted.look(), deletions().length, prepared]).toEqual([true, before, 1]);

  // As the tracker of sources does, which reads the deletions.
  await log.append([tombstone(sources, 'gone/s')]);
  expect([await deleted.look(), has('gone')]).toEqual([false, names(told)]);
  expect(log.open(organizations).get('gone')).toBeDefined();

  // A process that did not know of it yet has let something in.
  await log.append([entry(sources, { orgId: 'gone', sourceId: 'late', firstReceivedMs: 1, lastReceivedMs: 1 })]);
  expect([await deleted.look(), deletions().length]).toEqual([true, before]);
  nowMs += hourMs;
  expect([await deleted.look(), deletions().slice(before)]).toEqual([true, [`${points.name} gone/late`, `${events.name} gone/late`]]);
  await log.append([tombstone(sources, 'gone/late')]);
  expect([await deleted.look(), has('gone'), log.open(organizations).get('gone')]).toEqual([false, [], undefined]);
  expect([has('other'), log.open(organizations).get('other')]).toEqual([names(owned), expect.anything()]);
});

it('keeps the account of somebody who belongs to another organization too', async () => {
  await log.append([entry(memberships, { orgId: 'other', accountId: 'gone-account', role: 'viewer', sinceMs: 1 })]);
  await end();
  await deleted.look();
  expect(log.open(accounts).get('gone-account')).toBeDefined();
});

it('goes on where another process has ended, and does the same when two look at once', async () => {
  await end();
  await log.append([tombstone(apiKeys, 'gone-key'), tombstone(monitors, 'gone/gone-monitor')]);
  const second = new DeletedOrganizations(log, log, onlyGeneration({} as Stores), () => nowMs);
  await Promise.all([deleted.look(), second.look()]);
  second.onApplicationShutdown();
  expect(has('gone')).toEqual([sources.name, ...names(told)]);
  expect(has('other')).toEqual(names(owned));
});

import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { AnyTopic } from '#log';
import { tagsKey } from '#model';
import type {
  Account,
  AlertBatch,
  AlertCommand,
  AlertNote,
  AlertTarget,
  ApiKey,
  AuditEntry,
  Claim,
  ClaimCommand,
  Command,
  CommandState,
  Decisions,
  EventBatch,
  Gateway,
  Invitation,
  KeyCommand,
  KeyUse,
  Membership,
  Monitor,
  MonitorCommand,
  Notice,
  NoticedSource,
  Organization,
  OrganizationCommand,
  Outcomes,
  PeopleCommand,
  PointBatch,
  Presence,
  Projection,
  Session,
  SessionUse,
  Source,
  SourceAlerts,
  TargetCommand,
  TargetDeliveries,
  WatchedSource,
} from '#model';
import { avroType, whyUnreadable } from './avro.js';
import { AvroCodec, UnknownSchema } from './codec.js';
import type { SchemaRegistry } from './schema-registry.js';
import {
  accounts,
  alertCommands,
  alertNotes,
  alerts,
  alertTargets,
  apiKeys,
  audit,
  claimCommands,
  claims,
  commands,
  commandStates,
  decisions,
  deliveries,
  events,
  gateways,
  invitations,
  keyCommands,
  keyDecisions,
  keyUses,
  memberships,
  monitorCommands,
  monitors,
  monitorStates,
  noticedSources,
  notices,
  organizationCommands,
  organizations,
  outcomes,
  peopleCommands,
  points,
  presence,
  projections,
  sessions,
  sessionUses,
  sourceAlerts,
  sources,
  targetCommands,
  topics,
} from './topics.js';

const folder = new URL('../../../schemas/', import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith('.avsc'));
const text = (name: string): string => readFileSync(new URL(name, folder), 'utf8');
const t = 1_700_000_000_123;

/** `deleted` is what an older writer's record is read with, here and in events. */
const pointBatch: Required<PointBatch> = {
  orgId: 'o',
  sourceId: 's',
  receivedMs: t,
  series: [
    { metric: 'a.b', tags: tagsKey({ k: 'é' }), timestampMs: Float64Array.of(t, t - 1), value: Float64Array.of(1.5, -0) },
    { metric: 'c', tags: '', timestampMs: new Float64Array(), value: new Float64Array() },
  ],
  deleted: null,
};
const eventBatch: Required<EventBatch> = {
  orgId: 'o',
  sourceId: 's',
  receivedMs: t,
  origin: 'service',
  events: [{ metric: 'm', timestampMs: t, value: '{"a":1}', isJson: true, tags: tagsKey({ k: 'v' }), place: 3, ordinal: 1 }],
  deleted: null,
};
/** `sources` and `createdBy` are what an older writer's record is read with. */
const apiKey: Required<ApiKey> = {
  keyId: 'k',
  orgId: 'o',
  name: 'n',
  sha256: 'ab',
  prefix: 'hw_',
  suffix: 'z',
  scopes: ['read', 'admin'],
  createdMs: t,
  sources: ['*'],
  createdBy: '',
};
/** `by` is what an older writer's record is read with. */
const keyCommand: Required<KeyCommand> = {
  orgId: 'o',
  id: 'c',
  askedMs: t,
  by: { id: '', name: '' },
  keyId: 'k',
  does: 'create_first',
  key: apiKey,
};
const decided = [{ id: 'c', askedMs: t, outcome: 'has_keys' }];
/** `area` is what an older writer's record is read with. */
const ofKeys: Required<Decisions> = { area: 'keys', orgId: 'o', decided, atMs: t + 1, audited: 0 };
const decision: Required<Decisions> = { ...ofKeys, area: 'monitors' };
const by = { id: 'k', name: 'press' };
const outcome: Required<Outcomes> = { area: 'monitors', orgId: 'o', told: [{ id: 'c', outcome: 'defined', about: 'n' }] };
const auditEntry: Required<AuditEntry> = {
  orgId: 'o',
  id: 'c/0',
  area: 'monitors',
  count: 7,
  atMs: t,
  by,
  did: 'monitor.created',
  about: 'n',
  text: 'heat',
};
const claim: Required<Claim> = {
  claimId: 'ab',
  userCode: 'B-C',
  name: 'n',
  address: '::1',
  scopes: ['write'],
  sources: ['*'],
  startedMs: t,
  status: 'approved',
  orgId: 'o',
  decidedBy: 'a',
};
const claimCommand: Required<ClaimCommand> = {
  orgId: '',
  id: 'c',
  askedMs: t,
  by,
  claimId: 'ab',
  does: 'start',
  claim: { userCode: 'B-C', name: 'n', address: '::1', scopes: ['write'], sources: ['*'] },
  grant: null,
};
const keyUse: Required<KeyUse> = { keyId: 'k', usedMs: t, address: '::1' };
/** `identity` is what an older writer's record is read with. */
const account: Required<Account> = {
  accountId: 'a',
  email: 'e@x',
  passwordDigest: '$argon2id$',
  createdMs: t,
  reset: { sha256: 'ab', expiresMs: t + 1 },
  identity: null,
};
const membership: Required<Membership> = { orgId: 'o', accountId: 'a', role: 'viewer', sinceMs: t };
const invitation: Required<Invitation> = {
  invitationId: 'i',
  orgId: 'o',
  role: 'member',
  email: 'e@x',
  invitedBy: 'a',
  expiresMs: t,
};
const peopleCommand = {
  orgId: 'o',
  id: 'c',
  askedMs: t,
  by,
  does: 'reset_password',
  invitation: null,
  invitationId: null,
  account: null,
  accountId: null,
  role: null,
  passwordDigest: 'd',
  reset: account.reset!,
  identity: null,
} as const satisfies PeopleCommand;
const session: Required<Session> = {
  sessionId: 's',
  accountId: 'a',
  sha256: 'ab',
  credential: 'c',
  createdMs: t,
  address: '::1',
  agent: 'b',
};
const sessionUse: Required<SessionUse> = { sessionId: 's', usedMs: t, address: '::1' };
/** `limits`, `enforceReadScope` and `deletedMs` are what an older writer's record is read with. */
const organization: Required<Organization> = {
  orgId: 'o',
  name: 'n',
  paymentMethodOnFile: true,
  createdMs: t,
  limits: {},
  enforceReadScope: false,
  deletedMs: null,
};
const organizationCommand: Required<OrganizationCommand> = {
  orgId: 'o',
  id: 'c',
  askedMs: t,
  by,
  does: 'change',
  name: 'n',
  paymentMethodOnFile: true,
  enforceReadScope: null,
  limits: { points_per_s: 5 },
};
/** `heardIn` is what an older writer's record is read with. */
const source: Required<Source> = { orgId: 'o', sourceId: 's', firstReceivedMs: t, lastReceivedMs: t + 1, heardIn: null };
const aPresence: Required<Presence> = { orgId: 'o', sourceId: 's', connectionId: 'c', gatewayId: 'g', connectedMs: t };
const command: Required<Command> = {
  orgId: 'o',
  sourceId: 's',
  commandId: 'c',
  connectionId: 'n',
  gatewayId: 'g',
  name: 'm',
  params: '{"a":1}',
  sentMs: t,
};
const commandState: Required<CommandState> = { orgId: 'o', sourceId: 's', commandId: 'c', name: 'm', sentMs: t, isAcknowledged: true };
const gateway: Required<Gateway> = { gatewayId: 'g', beatMs: t };
/** `highest` is what an older writer's record is read with. */
const projection: Required<Projection> = { projection: 'p', live: 2, building: 3, highest: 0 };

const threshold = { min: -1, max: 80, clearMin: null, clearMax: 75, forMs: 5000, severity: 'warning', message: 'hot' } as const;
const offline = { timeoutMs: 60_000, severity: 'critical', message: 'gone' } as const;
const monitor: Required<Monitor> = {
  orgId: 'o',
  monitorId: 'n',
  name: 'heat',
  sourceId: 's',
  metric: 'm',
  threshold,
  offline,
  createdMs: t,
  definedMs: t + 1,
};
const monitorCommand: Required<MonitorCommand> = {
  orgId: 'o',
  id: 'c',
  askedMs: t,
  by,
  monitorId: 'n',
  does: 'change',
  definition: { name: 'heat', sourceId: 's', metric: 'm', threshold, offline },
  basedOnMs: t,
};
const about = { alertId: 'a', monitorId: 'n', sourceId: 's', triggeredMs: t };
const open = { ...about, metric: 'm', value: 81, threshold, offline: null, resolvedMs: null, resolution: null };
const ended = { ...about, metric: null, value: null, threshold: null, offline, resolvedMs: t + 1, resolution: 'heard' } as const;
const watched: Required<WatchedSource> = {
  orgId: 'o',
  sourceId: 's',
  heardMs: t,
  isConnected: true,
  monitors: [{ monitorId: 'n', definedMs: t, evaluatedMs: t, outsideSinceMs: t - 1, alert: open, offlineAlert: null }],
};
const alertBatch: Required<AlertBatch> = { orgId: 'o', sourceId: 's', alerts: [open, ended] };
const ofSource: Required<SourceAlerts> = alertBatch;
const subject = { orgId: 'o', sourceId: 's', monitorId: 'n', condition: 'offline' } as const;
const alertCommand: Required<AlertCommand> = { ...subject, id: 'c', askedMs: t, by, alertId: 'a', does: 'silence', untilMs: t + 1 };
const alertNote: Required<AlertNote> = {
  ...subject,
  acknowledgedId: 'a',
  acknowledgedMs: t,
  acknowledgedBy: 'press',
  silencedUntilMs: t + 1,
  silencedBy: 'ann',
};
/** `formerSecret` is what an older writer's record is read with. */
const alertTarget: Required<AlertTarget> = {
  orgId: 'o',
  targetId: 'g',
  name: 'ops',
  kind: 'webhook',
  to: 'https://a.example/',
  minSeverity: 'warning',
  secret: 'whsec_YQ==',
  formerSecret: null,
  createdMs: t,
  changedMs: t + 1,
  paused: 'failing',
};
/** `secret` is what an older writer's record is read with. */
const targetCommand: Required<TargetCommand> = {
  orgId: 'o',
  id: 'c',
  askedMs: t,
  by,
  targetId: 'g',
  does: 'change',
  target: null,
  change: { name: 'ops', to: null, minSeverity: 'critical', isPaused: false },
  changedMs: null,
  secret: null,
};
const noticedSource: Required<NoticedSource> = { orgId: 'o', sourceId: 's', digest: 'd' };
const notice: Required<Notice> = { orgId: 'o', targetId: 'g', place: { partition: 3, offset: 7 }, testId: null, alerts: [open] };
const told = { alerts: [ended], triggered: 1, resolved: 2, severity: 'critical', names: 'tAAAAAAAAAAAAAAAA' } as const;
const targetDeliveries: Required<TargetDeliveries> = {
  orgId: 'o',
  targetId: 'g',
  nextOffsets: Float64Array.of(0, 8),
  waiting: told,
  open: { id: 'm', told, isTest: false, madeMs: t, failed: 2, nextMs: t + 9 },
  dueMs: t,
  failingSinceMs: t - 9,
  attempts: [
    { deliveryId: 'm', atMs: t, tookMs: 5, transitions: 3, isTest: true, outcome: 'failed', status: 503, error: 'no', againMs: t + 9 },
  ],
};

/** A value of each topic with all that its type has. */
const full: readonly (readonly [AnyTopic, object])[] = [
  [points, pointBatch],
  [events, eventBatch],
  [sources, source],
  [presence, aPresence],
  [gateways, gateway],
  [commands, command],
  [commandStates, commandState],
  [monitors, monitor],
  [monitorStates, watched],
  [alerts, alertBatch],
  [sourceAlerts, ofSource],
  [alertCommands, alertCommand],
  [alertNotes, alertNote],
  [alertTargets, alertTarget],
  [targetCommands, targetCommand],
  [noticedSources, noticedSource],
  [notices, notice],
  [deliveries, targetDeliveries],
  [organizations, organization],
  [organizationCommands, organizationCommand],
  [apiKeys, apiKey],
  [keyCommands, keyCommand],
  [keyDecisions, ofKeys],
  [keyUses, keyUse],
  [monitorCommands, monitorCommand],
  [claims, claim],
  [claimCommands, claimCommand],
  [decisions, decision],
  [outcomes, outcome],
  [audit, auditEntry],
  [accounts, account],
  [memberships, membership],
  [invitations, invitation],
  [peopleCommands, peopleCommand],
  [sessions, session],
  [sessionUses, sessionUse],
  [projections, projection],
];

/** What a writer of each committed version made of the full value: a file that changes does not fit its own bytes any more. */
const written: Readonly<Record<string, string>> = {
  'account.v1.avsc': '02610665407814246172676f6e32696424f6a1abfef96202046162f8a1abfef962',
  'account.v2.avsc': '02610665407814246172676f6e32696424f6a1abfef96202046162f8a1abfef96200',
  'alert-batch.v1.avsc':
    '026f0273040261026e027302026d0200000000004054400202000000000000f0bf02000000000000544000020000000000c05240904e0206686f7400f6a1abfef96200000261026e027300000002c0a9070408676f6e65f6a1abfef96202f8a1abfef962020200',
  'alert-command.v1.avsc': '026f0263f6a1abfef962026b0a70726573730273026e0202610202f8a1abfef962',
  'alert-note.v1.avsc': '026f0273026e020261f6a1abfef9620a7072657373f8a1abfef96206616e6e',
  'api-key.v1.avsc': '026b026f026e0461620668775f027a0408726561640a61646d696e00f6a1abfef962',
  'api-key.v2.avsc': '026b026f026e0461620668775f027a0408726561640a61646d696e00f6a1abfef96202022a0000',
  'audit-entry.v1.avsc': '026f06632f30106d6f6e69746f72730ef6a1abfef962026b0a70726573731e6d6f6e69746f722e63726561746564026e0868656174',
  'claim-command.v1.avsc': '000263f6a1abfef962026b0a7072657373046162000206422d43026e063a3a31020a77726974650002022a0000',
  'claim.v1.avsc': '04616206422d43026e063a3a31020a77726974650002022a00f6a1abfef96202026f0261',
  'command-state.v1.avsc': '026f02730263026df6a1abfef96201',
  'command.v1.avsc': '026f02730263026e0267026d0e7b2261223a317df6a1abfef962',
  'decisions.v1.avsc': '106d6f6e69746f7273026f020263f6a1abfef962106861735f6b65797300f8a1abfef96200',
  'event-batch.v1.avsc': '026f0273f6a1abfef9620202026df6a1abfef9620e7b2261223a317d0102026b027600060200',
  'event-batch.v2.avsc': '026f0273f6a1abfef9620202026df6a1abfef9620e7b2261223a317d0102026b02760006020000',
  'gateway.v1.avsc': '0267f6a1abfef962',
  'invitation.v1.avsc': '0269026f02066540780261f6a1abfef962',
  'key-command.v1.avsc': '026f0263f6a1abfef962026b0202026b026f026e0461620668775f027a0408726561640a61646d696e00f6a1abfef962',
  'key-command.v2.avsc': '026f0263f6a1abfef962026b0202026b026f026e0461620668775f027a0408726561640a61646d696e00f6a1abfef96202022a0000',
  'key-command.v3.avsc': '026f0263f6a1abfef962026b0202026b026f026e0461620668775f027a0408726561640a61646d696e00f6a1abfef96202022a00000000',
  'key-decisions.v1.avsc': '026f020263f6a1abfef9620400f8a1abfef962',
  'key-decisions.v2.avsc': '026f020263f6a1abfef9620400f8a1abfef962086b65797300',
  'key-use.v1.avsc': '026bf6a1abfef962063a3a31',
  'membership.v1.avsc': '026f026104f6a1abfef962',
  'monitor-command.v1.avsc':
    '026f0263f6a1abfef962026b0a7072657373026e02020868656174027302026d0202000000000000f0bf02000000000000544000020000000000c05240904e0206686f7402c0a9070408676f6e6502f6a1abfef962',
  'monitor.v1.avsc':
    '026f026e0868656174027302026d0202000000000000f0bf02000000000000544000020000000000c05240904e0206686f7402c0a9070408676f6e65f6a1abfef962f8a1abfef962',
  'organization.v1.avsc': '026f026e01f6a1abfef962',
  'organization-command.v1.avsc': '026f0263f6a1abfef962026b0a70726573730202026e020100020218706f696e74735f7065725f730a00',
  'organization-command.v2.avsc': '026f0263f6a1abfef962026b0a70726573730202026e020100020218706f696e74735f7065725f730a00',
  'organization.v2.avsc': '026f026e01f6a1abfef96200',
  'organization.v3.avsc': '026f026e01f6a1abfef9620000',
  'organization.v4.avsc': '026f026e01f6a1abfef962000000',
  'outcomes.v1.avsc': '106d6f6e69746f7273026f0202630e646566696e6564026e00',
  'people-command.v1.avsc': '026f0263f6a1abfef962026b0a70726573730e000000000002026402046162f8a1abfef962',
  'people-command.v2.avsc': '026f0263f6a1abfef962026b0a70726573730e000000000002026402046162f8a1abfef96200',
  'point-batch.v1.avsc':
    '026f0273f6a1abfef9620406612e6202026b04c3a90004f6a1abfef962f4a1abfef9620004000000000000f83f000000000000008000026300000000',
  'point-batch.v2.avsc':
    '026f0273f6a1abfef9620406612e6202026b04c3a90004f6a1abfef962f4a1abfef9620004000000000000f83f00000000000000800002630000000000',
  'presence.v1.avsc': '026f027302630267f6a1abfef962',
  'projection.v1.avsc': '0270040206',
  'projection.v2.avsc': '027004020600',
  'session-use.v1.avsc': '0273f6a1abfef962063a3a31',
  'session.v1.avsc': '027302610461620263f6a1abfef962063a3a310262',
  'source-alerts.v1.avsc':
    '026f0273040261026e027302026d0200000000004054400202000000000000f0bf02000000000000544000020000000000c05240904e0206686f7400f6a1abfef96200000261026e027300000002c0a9070408676f6e65f6a1abfef96202f8a1abfef962020200',
  'source.v1.avsc': '026f0273f6a1abfef962f8a1abfef962',
  'source.v2.avsc': '026f0273f6a1abfef962f8a1abfef96200',
  'watched-source.v1.avsc':
    '026f0273f6a1abfef9620102026ef6a1abfef962f6a1abfef96202f4a1abfef962020261026e027302026d0200000000004054400202000000000000f0bf02000000000000544000020000000000c05240904e0206686f7400f6a1abfef96200000000',
  'alert-target.v1.avsc': '026f0267066f70730a2468747470733a2f2f612e6578616d706c652f021477687365635f59513d3df6a1abfef962f8a1abfef9620202',
  'alert-target.v2.avsc': '026f0267066f70730a2468747470733a2f2f612e6578616d706c652f021477687365635f59513d3df6a1abfef962f8a1abfef9620202',
  'alert-target.v3.avsc': '026f0267066f70730a2468747470733a2f2f612e6578616d706c652f021477687365635f59513d3df6a1abfef962f8a1abfef962020200',
  'target-command.v1.avsc': '026f0263f6a1abfef962026b0a7072657373026702000202066f7073000204020000',
  'target-command.v2.avsc': '026f0263f6a1abfef962026b0a7072657373026702000202066f7073000204020000',
  'target-command.v3.avsc': '026f0263f6a1abfef962026b0a7072657373026702000202066f707300020402000000',
  'noticed-source.v1.avsc': '026f02730264',
  'notice.v1.avsc':
    '026f026702060e00020261026e027302026d0200000000004054400202000000000000f0bf02000000000000544000020000000000c05240904e0206686f7400f6a1abfef962000000',
  'target-deliveries.v1.avsc':
    '026f02670400100002020261026e027300000002c0a9070408676f6e65f6a1abfef96202f8a1abfef96202020002040422744141414141414141414141414141414102026d020261026e027300000002c0a9070408676f6e65f6a1abfef96202f8a1abfef96202020002040422744141414141414141414141414141414100f6a1abfef9620488a2abfef962f6a1abfef96202e4a1abfef96202026df6a1abfef9620a06010202ee07046e6f0288a2abfef96200',
  'target-deliveries.v2.avsc':
    '026f02670400100002020261026e027300000002c0a9070408676f6e65f6a1abfef96202f8a1abfef96202020002040422744141414141414141414141414141414102026d020261026e027300000002c0a9070408676f6e65f6a1abfef96202f8a1abfef96202020002040422744141414141414141414141414141414100f6a1abfef9620488a2abfef962f6a1abfef96202e4a1abfef96202026df6a1abfef9620a06010202ee07046e6f0288a2abfef96200',
};

/** Ids in the order of registration, from 1. */
function memoryRegistry(): SchemaRegistry & { readonly texts: string[] } {
  const texts: string[] = [];
  return {
    texts,
    register: async (_, schema) => (texts.includes(schema) ? texts.indexOf(schema) + 1 : texts.push(schema)),
    schema: async (id) => texts[id - 1],
  };
}

interface Node {
  readonly type: unknown;
  readonly name?: string;
  readonly doc?: string;
  readonly fields?: readonly Node[];
  readonly items?: unknown;
}

/** Everything with a name in a schema: its record types and their fields. */
function named(schema: unknown): Node[] {
  if (Array.isArray(schema)) return schema.flatMap(named);
  if (typeof schema !== 'object' || schema === null) return [];
  const node = schema as Node;
  return [...(node.name ? [node] : []), ...(node.fields ?? []).flatMap(named), ...named(node.items), ...named(node.type)];
}

describe('the files in schemas/', () => {
  it('are the versions from 1 on of the records of the topics', () => {
    const newest = new Map<string, number>();
    for (const topic of topics) newest.set(topic.schema, files.filter((name) => name.startsWith(`${topic.schema}.v`)).length);
    const expected = [...newest].flatMap(([schema, n]) => Array.from({ length: n }, (_, at) => `${schema}.v${at + 1}.avsc`));
    expect(files.toSorted()).toEqual(expected.toSorted());
    expect([...newest.values()].every((n) => n > 0)).toBe(true);
  });

  it.each(files)('%s says of every field what it is', (name) => {
    expect(named(JSON.parse(text(name))).filter(({ doc }) => !doc)).toEqual([]);
  });

  it.each(files)('%s can be read by all later versions, under the same name', (name) => {
    const [, schema, version] = /^(.+)\.v(\d+)\.avsc$/.exec(name)!;
    const { name: record, namespace } = JSON.parse(text(name)) as { name: string; namespace: string };
    expect(namespace).toBe('headwater');
    for (let later = Number(version); files.includes(`${schema}.v${later}.avsc`); later++) {
      const reader = text(`${schema}.v${later}.avsc`);
      expect(whyUnreadable(reader, text(name))).toBeUndefined();
      expect(JSON.parse(reader)).toMatchObject({ name: record, namespace });
    }
  });

  /** Their next version has something that a role with this one cannot read, as a new symbol: such roles must all be replaced at once. */
  const apart = [
    'alert-target.v1',
    'organization-command.v1',
    'people-command.v1',
    'target-command.v1',
    'target-command.v2',
    'target-deliveries.v1',
  ];

  it.each(files)('%s can read the next version, so that roles of both may run, unless it is said to be apart', (name) => {
    const [, schema, version] = /^(.+)\.v(\d+)\.avsc$/.exec(name)!;
    const next = `${schema}.v${Number(version) + 1}.avsc`;
    const why = files.includes(next) ? whyUnreadable(text(name), text(next)) : undefined;
    expect(why !== undefined).toBe(apart.includes(`${schema}.v${version}`));
  });
});

describe('a topic', () => {
  const registry = memoryRegistry();
  let codec: AvroCodec;
  beforeAll(async () => void (codec = await AvroCodec.open(registry, topics)));

  it('is in the table below', () => {
    expect(full.map(([topic]) => topic)).toEqual(topics);
    expect(Object.keys(written).toSorted()).toEqual(files.toSorted());
  });

  it.each(full.map(([topic, value]) => [topic.name, topic, value] as const))(
    '%s keeps exactly the fields of its type',
    (_, topic, value) => {
      expect(codec.decode(topic, topic.key(value), codec.encode(topic, value))).toEqual(value);
    },
  );

  it.each(files)('reads what a writer with %s wrote', (name) => {
    const [topic, value] = full.find(([{ schema }]) => name.startsWith(`${schema}.v`))!;
    const bytes = Buffer.from(`00${(registry.texts.indexOf(text(name)) + 1).toString(16).padStart(8, '0')}${written[name]}`, 'hex');
    expect(codec.decode(topic, topic.key(value), bytes)).toEqual(value);
  });

  it('keeps the limits of an organization, those of a newer version too', () => {
    const limits = { points_per_s: 5000, of_tomorrow: 7 } as Organization['limits'];
    const limited = { ...organization, limits };
    expect(codec.decode(organizations, 'o', codec.encode(organizations, limited))).toEqual(limited);
  });

  it.each([null, 'm'])('keeps that the metric %s is deleted', (metric) => {
    const deletion = { deleted: { metric } };
    const [ofPoints, ofEvents] = [
      { ...pointBatch, series: [], ...deletion },
      { ...eventBatch, events: [], ...deletion },
    ];
    expect(codec.decode(points, 'o/s', codec.encode(points, ofPoints))).toEqual(ofPoints);
    expect(codec.decode(events, 'o/s', codec.encode(events, ofEvents))).toEqual(ofEvents);
  });

  const heard = { firstReceivedMs: t, lastReceivedMs: t + 1 };
  it.each(['points', 'events', { points: heard, events: heard }] as const)('keeps that a source was heard in %j', (heardIn) => {
    expect(codec.decode(sources, 'o/s', codec.encode(sources, { ...source, heardIn }))).toEqual({ ...source, heardIn });
  });

  it('keeps who signs in to an account by a provider', () => {
    const bound = { ...account, identity: { issuer: 'https://id.example', subject: 's' } };
    expect(codec.decode(accounts, 'a', codec.encode(accounts, bound))).toEqual(bound);
  });

  it('reads what a newer writer wrote, once it has learned its schema', async () => {
    const schema = JSON.parse(text('point-batch.v2.avsc')) as { fields: object[] };
    schema.fields.splice(2, 0, { name: 'quality', type: ['null', 'string'], default: null });
    const newer = JSON.stringify(schema);
    const id = await registry.register('telemetry.points.v1-value', newer);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(id, 1);
    const record = Buffer.concat([head, avroType(newer).toBuffer({ ...pointBatch, quality: 'good' })]);
    expect(() => codec.decode(points, points.key(pointBatch), record)).toThrow(UnknownSchema);
    await codec.learn(points, id);
    expect(codec.decode(points, points.key(pointBatch), record)).toEqual(pointBatch);
  });

  it('loses no tag of a newer writer, whatever its key', async () => {
    const schema = JSON.parse(text('point-batch.v2.avsc')) as { fields: object[] };
    schema.fields.push({ name: 'labels', type: { type: 'map', values: 'long' }, default: {} });
    const newer = JSON.stringify(schema);
    const id = await registry.register('telemetry.points.v1-value', newer);
    const tags = JSON.stringify(['', '__proto__', 'constructor', 'k'].map((name) => [name, `of ${name}`]));
    const [run] = pointBatch.series;
    const head = Buffer.alloc(5);
    head.writeUInt32BE(id, 1);
    const body = avroType(newer).toBuffer({ ...pointBatch, series: [{ ...run, tags }], labels: { a: 1 } });
    await codec.learn(points, id);
    const read = codec.decode(points, points.key(pointBatch), Buffer.concat([head, body])).series[0]!.tags;
    expect(read).toBe(tags);
  });

  it('does not learn a schema that it cannot read, or that nobody knows', async () => {
    const id = await registry.register('x', '{"type": "record", "name": "PointBatch", "namespace": "headwater", "fields": []}');
    await expect(codec.learn(points, id)).rejects.toThrow('org');
    await expect(codec.learn(points, 999)).rejects.toThrow('the registry has no schema with id 999');
  });

  it.each([
    ['nothing', []],
    ['half a head', [0, 0]],
    ['another format', [1, 0, 0, 0, 1, 2]],
    ['too short a body', [0, 0, 0, 0, 1, 2, 0x6f]],
  ])('refuses %s', (_, bytes) => {
    expect(() => codec.decode(points, 'o/s', Uint8Array.from(bytes))).toThrow(Error);
  });
});

describe('a record that another producer appended', () => {
  const registry = memoryRegistry();
  it.each([
    ['breaks the rules of its topic', { ...pointBatch, sourceId: '' }, 'o/', 'the source id is not one'],
    ['stands under the key of another source', pointBatch, 'o/other', 'the record stands under another key than its own'],
  ])('is refused when it %s', async (_, value, key, reason) => {
    const codec = await AvroCodec.open(registry, topics);
    const bytes = codec.encode(points, value);
    expect(() => codec.decode(points, key, bytes)).toThrow(reason);
  });
});

describe('a change of a schema', () => {
  const record = (...fields: object[]): string => JSON.stringify({ type: 'record', name: 'Thing', namespace: 'headwater', fields });
  const a = { name: 'a', type: 'string' };
  const columns = (items: string): object => ({ name: 'c', type: { type: 'array', items } });

  it.each([
    ['the same', record(a), record(a), true],
    ['a field with a default', record(a), record(a, { name: 'b', type: 'long', default: 0 }), true],
    ['a field less', record(a, { name: 'b', type: 'long' }), record(a), true],
    ['a wider number', record({ name: 'a', type: 'int' }), record({ name: 'a', type: 'long' }), true],
    ['a new name with the old one as alias', record(a), record({ name: 'b', type: 'string', aliases: ['a'] }), true],
    ['a wider column', record(columns('int')), record(columns('long')), true],
    ['the same column', record(columns('double')), record(columns('double')), true],
    ['a field without a default', record(a), record(a, { name: 'b', type: 'long' }), false],
    ['a narrower number', record({ name: 'a', type: 'long' }), record({ name: 'a', type: 'int' }), false],
    ['another type', record(a), record({ name: 'a', type: 'long' }), false],
    ['a map with a default', record(a), record(a, { name: 'm', type: { type: 'map', values: 'string' }, default: { k: 'v' } }), true],
    [
      'a map instead of pairs',
      record({ name: 'm', type: { type: 'array', items: { type: 'record', name: 'Pair', fields: [{ name: 'key', type: 'string' }] } } }),
      record({ name: 'm', type: { type: 'map', values: 'string' } }),
      false,
    ],
    ['a column of another type', record(columns('double')), record(columns('long')), false],
  ])('%s', (_, older, newer, allowed) => {
    expect(whyUnreadable(newer, older) === undefined).toBe(allowed);
  });
});

import type { AnyTopic, Topic } from '#log';
import {
  flawOfAlertCommand,
  flawOfClaimCommand,
  flawOfAlertTarget,
  flawOfCommand,
  flawOfEvents,
  flawOfKeyCommand,
  flawOfMonitor,
  flawOfMonitorCommand,
  flawOfOrganizationCommand,
  flawOfPeopleCommand,
  flawOfPoints,
  flawOfSource,
  flawOfTargetCommand,
  membershipKey,
  type Account,
  subjectKey,
  type AlertBatch,
  type AlertCommand,
  type AlertNote,
  type AlertTarget,
  type ApiKey,
  type AuditEntry,
  type Claim,
  type ClaimCommand,
  type Command,
  type CommandState,
  type Decisions,
  type EventBatch,
  type Gateway,
  type Invitation,
  type KeyCommand,
  type KeyUse,
  type Membership,
  type Monitor,
  type MonitorCommand,
  type Notice,
  type NoticedSource,
  type Organization,
  type OrganizationCommand,
  type Outcomes,
  type PeopleCommand,
  type PointBatch,
  type Presence,
  type Projection,
  type Session,
  type SessionUse,
  type Source,
  type SourceAlerts,
  type TargetCommand,
  type TargetDeliveries,
  type WatchedSource,
} from '#model';

type Shape = Pick<AnyTopic, 'cleanup' | 'keptMs' | 'unreadable' | 'partitions'>;
type More<V> = Pick<Topic<V>, 'flaw' | 'unreadable' | 'isUrgent'>;

const topicOf =
  (shape: Shape) =>
  <V>(name: string, schema: string, key: (value: V) => string, more: More<V> = {}): Topic<V> => ({ name, schema, key, ...shape, ...more });

/** Facts, which are all kept, in 24 partitions. */
const facts = topicOf({ cleanup: 'delete', partitions: 24 });
/** The newest state of each key, in 24 partitions. Where a record cannot be decoded, the one before it still holds. */
const known = topicOf({ cleanup: 'compact', unreadable: 'skipped', partitions: 24 });
/** The newest state of each key, in one partition. */
const inOnePartition = topicOf({ cleanup: 'compact', partitions: 1 });
const askedFor = topicOf({ cleanup: 'delete', keptMs: 7 * 86_400_000, partitions: 1 });
/** Commands for a decider, which carries none out that is older than 5 seconds. */
const asked = <C extends { readonly orgId: string }>(name: string, schema: string, flaw: (command: C) => string | undefined): Topic<C> =>
  askedFor<C>(name, schema, (of) => of.orgId, { flaw });

/** Key of everything that belongs to one source. An org id holds no slash, so the key has one reading. */
export const sourceKey = (of: { readonly orgId: string; readonly sourceId: string }): string => `${of.orgId}/${of.sourceId}`;

/** Key of one command. */
export const commandKey = (of: { readonly orgId: string; readonly sourceId: string; readonly commandId: string }): string =>
  `${sourceKey(of)}/${of.commandId}`;

/** Key of one monitor. */
export const monitorKey = (of: { readonly orgId: string; readonly monitorId: string }): string => `${of.orgId}/${of.monitorId}`;

export const points: Topic<PointBatch> = {
  name: 'telemetry.points.v1',
  schema: 'point-batch',
  key: sourceKey,
  flaw: flawOfPoints,
  cleanup: 'delete',
  partitions: 24,
};

export const events: Topic<EventBatch> = {
  name: 'telemetry.events.v1',
  schema: 'event-batch',
  key: sourceKey,
  flaw: flawOfEvents,
  cleanup: 'delete',
  partitions: 24,
};

export const sources = known<Source>('sources.v1', 'source', sourceKey, { flaw: flawOfSource });

export const presence = known<Presence>('presence.v1', 'presence', (of) => `${sourceKey(of)}/${of.connectionId}`, { flaw: flawOfSource });

// A heartbeat that cannot be decoded is soon replaced: the next one comes in seconds.
export const gateways = inOnePartition<Gateway>('gateways.v1', 'gateway', (of) => of.gatewayId, { unreadable: 'skipped' });

export const commands = facts<Command>('commands.v1', 'command', sourceKey, { flaw: flawOfCommand, isUrgent: true });

export const commandStates = known<CommandState>('command-states.v1', 'command-state', commandKey, { flaw: flawOfCommand, isUrgent: true });

// Where a definition cannot be decoded, the one before it still watches, which is better than no monitor.
export const monitors = inOnePartition<Monitor>('monitors.v1', 'monitor', monitorKey, { flaw: flawOfMonitor, unreadable: 'skipped' });

// Where a record cannot be decoded, the one before it holds, so that an open alert is not opened twice.
export const monitorStates = known<WatchedSource>('monitor-states.v1', 'watched-source', sourceKey, { flaw: flawOfSource });

export const alerts = facts<AlertBatch>('alerts.v1', 'alert-batch', sourceKey, { flaw: flawOfSource });

export const sourceAlerts = known<SourceAlerts>('source-alerts.v1', 'source-alerts', sourceKey, { flaw: flawOfSource });

export const alertCommands = asked<AlertCommand>('alert-commands.v1', 'alert-command', flawOfAlertCommand);

// Where a note cannot be decoded, people are told of the alert, which is better than not being told.
export const alertNotes = inOnePartition<AlertNote>('alert-notes.v1', 'alert-note', subjectKey);

/** Key of one alert target. */
export const targetKey = (of: { readonly orgId: string; readonly targetId: string }): string => `${of.orgId}/${of.targetId}`;

// Where a target cannot be decoded, the one before it is still used: better to tell people where they were told before than not at all.
export const alertTargets = inOnePartition<AlertTarget>('alert-targets.v1', 'alert-target', targetKey, {
  flaw: flawOfAlertTarget,
  unreadable: 'skipped',
});

export const targetCommands = asked<TargetCommand>('target-commands.v1', 'target-command', flawOfTargetCommand);

// Where a record cannot be decoded, the one before it holds, so that nothing is told twice.
export const noticedSources = known<NoticedSource>('noticed-sources.v1', 'noticed-source', sourceKey, { flaw: flawOfSource });

export const notices = facts<Notice>('notices.v1', 'notice', targetKey);

// Where a record cannot be decoded, the one before it holds, so that nothing is told twice.
export const deliveries = known<TargetDeliveries>('deliveries.v1', 'target-deliveries', targetKey);

export const organizations = inOnePartition<Organization>('organizations.v1', 'organization', (of) => of.orgId);

export const organizationCommands = asked<OrganizationCommand>(
  'organization-commands.v1',
  'organization-command',
  flawOfOrganizationCommand,
);

export const apiKeys = inOnePartition<ApiKey>('api-keys.v1', 'api-key', (of) => of.keyId);

export const keyCommands = asked<KeyCommand>('key-commands.v1', 'key-command', flawOfKeyCommand);

export const keyDecisions = inOnePartition<Decisions>('key-decisions.v1', 'key-decisions', (of) => of.orgId);

/** Key of one area and organization. */
export const outcomesKey = (of: { readonly area: string; readonly orgId: string }): string => `${of.area}/${of.orgId}`;

export const monitorCommands = asked<MonitorCommand>('monitor-commands.v1', 'monitor-command', flawOfMonitorCommand);

export const claims = inOnePartition<Claim>('claims.v1', 'claim', (of) => of.claimId);

export const claimCommands = asked<ClaimCommand>('claim-commands.v1', 'claim-command', flawOfClaimCommand);

export const decisions = inOnePartition<Decisions>('decisions.v1', 'decisions', outcomesKey);

// Outcomes that cannot be decoded are those of an older version, for which nobody waits any more.
export const outcomes = inOnePartition<Outcomes>('outcomes.v1', 'outcomes', outcomesKey, { unreadable: 'skipped' });

// Each entry has a key of its own, so that all of them are kept. It is compacted all the same: in a data folder such topics are read without
// the telemetry that stands between.
export const audit = inOnePartition<AuditEntry>('audit.v1', 'audit-entry', ({ orgId, id }) => `${orgId}/${id}`, { unreadable: 'skipped' });

// A use that cannot be decoded is soon replaced: the next one is written within a minute.
export const keyUses = inOnePartition<KeyUse>('key-uses.v1', 'key-use', (of) => of.keyId, { unreadable: 'skipped' });

export const accounts = inOnePartition<Account>('accounts.v1', 'account', (of) => of.accountId);

export const memberships = inOnePartition<Membership>('memberships.v1', 'membership', membershipKey);

export const invitations = inOnePartition<Invitation>('invitations.v1', 'invitation', (of) => of.invitationId);

export const peopleCommands = asked<PeopleCommand>('people-commands.v1', 'people-command', flawOfPeopleCommand);

export const sessions = inOnePartition<Session>('sessions.v1', 'session', (of) => of.sessionId);

// Where a use cannot be decoded, the one before it still tells that the session lasts.
export const sessionUses = inOnePartition<SessionUse>('session-uses.v1', 'session-use', (of) => of.sessionId, { unreadable: 'skipped' });

export const projections = inOnePartition<Projection>('projections.v1', 'projection', (of) => of.projection);

/** Every topic there is; dead letters of `t` go to `t.name` + `.dlq`. */
export const topics: readonly AnyTopic[] = [
  points,
  events,
  sources,
  presence,
  gateways,
  commands,
  commandStates,
  monitors,
  monitorStates,
  alerts,
  sourceAlerts,
  alertCommands,
  alertNotes,
  alertTargets,
  targetCommands,
  noticedSources,
  notices,
  deliveries,
  organizations,
  organizationCommands,
  apiKeys,
  keyCommands,
  keyDecisions,
  keyUses,
  monitorCommands,
  claims,
  claimCommands,
  decisions,
  outcomes,
  audit,
  accounts,
  memberships,
  invitations,
  peopleCommands,
  sessions,
  sessionUses,
  projections,
];

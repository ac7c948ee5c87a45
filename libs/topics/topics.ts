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

/** A command of a decider is never carried out once it is 5 seconds old. */
const commandsKeptMs = 7 * 86_400_000;

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

export const sources: Topic<Source> = {
  name: 'sources.v1',
  schema: 'source',
  key: sourceKey,
  flaw: flawOfSource,
  cleanup: 'compact',
  // What is known of a source is still true, and its next point brings the rest.
  unreadable: 'skipped',
  partitions: 24,
};

export const presence: Topic<Presence> = {
  name: 'presence.v1',
  schema: 'presence',
  key: (of) => `${sourceKey(of)}/${of.connectionId}`,
  flaw: flawOfSource,
  cleanup: 'compact',
  // What is known of a connection holds for as long as its gateway is heard.
  unreadable: 'skipped',
  partitions: 24,
};

export const gateways: Topic<Gateway> = {
  name: 'gateways.v1',
  schema: 'gateway',
  key: (of) => of.gatewayId,
  cleanup: 'compact',
  // The next heartbeat comes in seconds.
  unreadable: 'skipped',
  partitions: 1,
};

export const commands: Topic<Command> = {
  name: 'commands.v1',
  schema: 'command',
  key: sourceKey,
  flaw: flawOfCommand,
  cleanup: 'delete',
  isUrgent: true,
  partitions: 24,
};

export const commandStates: Topic<CommandState> = {
  name: 'command-states.v1',
  schema: 'command-state',
  key: commandKey,
  flaw: flawOfCommand,
  cleanup: 'compact',
  // What is known of a command still holds.
  unreadable: 'skipped',
  isUrgent: true,
  partitions: 24,
};

export const monitors: Topic<Monitor> = {
  name: 'monitors.v1',
  schema: 'monitor',
  key: monitorKey,
  flaw: flawOfMonitor,
  cleanup: 'compact',
  // The definition before still watches, which is better than nobody.
  unreadable: 'skipped',
  partitions: 1,
};

export const monitorStates: Topic<WatchedSource> = {
  name: 'monitor-states.v1',
  schema: 'watched-source',
  key: sourceKey,
  flaw: flawOfSource,
  cleanup: 'compact',
  // What is known of a source still holds: an open alert is not opened twice.
  unreadable: 'skipped',
  partitions: 24,
};

export const alerts: Topic<AlertBatch> = {
  name: 'alerts.v1',
  schema: 'alert-batch',
  key: sourceKey,
  flaw: flawOfSource,
  cleanup: 'delete',
  partitions: 24,
};

export const sourceAlerts: Topic<SourceAlerts> = {
  name: 'source-alerts.v1',
  schema: 'source-alerts',
  key: sourceKey,
  flaw: flawOfSource,
  cleanup: 'compact',
  // What was known of its alerts is better than nothing, and the next transition brings the rest.
  unreadable: 'skipped',
  partitions: 24,
};

export const alertCommands: Topic<AlertCommand> = {
  name: 'alert-commands.v1',
  schema: 'alert-command',
  key: (of) => of.orgId,
  flaw: flawOfAlertCommand,
  cleanup: 'delete',
  keptMs: commandsKeptMs,
  partitions: 1,
};

export const alertNotes: Topic<AlertNote> = {
  name: 'alert-notes.v1',
  schema: 'alert-note',
  key: subjectKey,
  // Without it people are told, which is better than not to be told.
  cleanup: 'compact',
  partitions: 1,
};

/** Key of one alert target. */
export const targetKey = (of: { readonly orgId: string; readonly targetId: string }): string => `${of.orgId}/${of.targetId}`;

export const alertTargets: Topic<AlertTarget> = {
  name: 'alert-targets.v1',
  schema: 'alert-target',
  key: targetKey,
  flaw: flawOfAlertTarget,
  cleanup: 'compact',
  // It is better to tell where people were told before than nobody.
  unreadable: 'skipped',
  partitions: 1,
};

export const targetCommands: Topic<TargetCommand> = {
  name: 'target-commands.v1',
  schema: 'target-command',
  key: (of) => of.orgId,
  flaw: flawOfTargetCommand,
  cleanup: 'delete',
  keptMs: commandsKeptMs,
  partitions: 1,
};

export const noticedSources: Topic<NoticedSource> = {
  name: 'noticed-sources.v1',
  schema: 'noticed-source',
  key: sourceKey,
  flaw: flawOfSource,
  cleanup: 'compact',
  // What is known of a source still holds: nothing is told twice.
  unreadable: 'skipped',
  partitions: 24,
};

export const notices: Topic<Notice> = {
  name: 'notices.v1',
  schema: 'notice',
  key: targetKey,
  cleanup: 'delete',
  partitions: 24,
};

export const deliveries: Topic<TargetDeliveries> = {
  name: 'deliveries.v1',
  schema: 'target-deliveries',
  key: targetKey,
  cleanup: 'compact',
  // What is known of a target still holds: nothing is told twice.
  unreadable: 'skipped',
  partitions: 24,
};

export const organizations: Topic<Organization> = {
  name: 'organizations.v1',
  schema: 'organization',
  key: (of) => of.orgId,
  cleanup: 'compact',
  partitions: 1,
};

export const organizationCommands: Topic<OrganizationCommand> = {
  name: 'organization-commands.v1',
  schema: 'organization-command',
  key: (of) => of.orgId,
  flaw: flawOfOrganizationCommand,
  cleanup: 'delete',
  keptMs: commandsKeptMs,
  partitions: 1,
};

export const apiKeys: Topic<ApiKey> = {
  name: 'api-keys.v1',
  schema: 'api-key',
  key: (of) => of.keyId,
  cleanup: 'compact',
  partitions: 1,
};

export const keyCommands: Topic<KeyCommand> = {
  name: 'key-commands.v1',
  schema: 'key-command',
  key: (of) => of.orgId,
  flaw: flawOfKeyCommand,
  cleanup: 'delete',
  keptMs: commandsKeptMs,
  partitions: 1,
};

export const keyDecisions: Topic<Decisions> = {
  name: 'key-decisions.v1',
  schema: 'key-decisions',
  key: (of) => of.orgId,
  cleanup: 'compact',
  partitions: 1,
};

/** Key of one area and organization. */
export const outcomesKey = (of: { readonly area: string; readonly orgId: string }): string => `${of.area}/${of.orgId}`;

export const monitorCommands: Topic<MonitorCommand> = {
  name: 'monitor-commands.v1',
  schema: 'monitor-command',
  key: (of) => of.orgId,
  flaw: flawOfMonitorCommand,
  cleanup: 'delete',
  keptMs: commandsKeptMs,
  partitions: 1,
};

export const claims: Topic<Claim> = {
  name: 'claims.v1',
  schema: 'claim',
  key: (of) => of.claimId,
  cleanup: 'compact',
  partitions: 1,
};

export const claimCommands: Topic<ClaimCommand> = {
  name: 'claim-commands.v1',
  schema: 'claim-command',
  key: (of) => of.orgId,
  flaw: flawOfClaimCommand,
  cleanup: 'delete',
  keptMs: commandsKeptMs,
  partitions: 1,
};

export const decisions: Topic<Decisions> = {
  name: 'decisions.v1',
  schema: 'decisions',
  key: outcomesKey,
  cleanup: 'compact',
  partitions: 1,
};

export const outcomes: Topic<Outcomes> = {
  name: 'outcomes.v1',
  schema: 'outcomes',
  key: outcomesKey,
  cleanup: 'compact',
  // Nobody waits for those of an older version any more.
  unreadable: 'skipped',
  partitions: 1,
};

export const audit: Topic<AuditEntry> = {
  name: 'audit.v1',
  schema: 'audit-entry',
  // Each entry has a key of its own, so that all of them are kept. It is compacted all the same: in a data folder such topics are read without
  // the telemetry that stands between.
  key: ({ orgId, id }) => `${orgId}/${id}`,
  cleanup: 'compact',
  unreadable: 'skipped',
  partitions: 1,
};

export const keyUses: Topic<KeyUse> = {
  name: 'key-uses.v1',
  schema: 'key-use',
  key: (of) => of.keyId,
  cleanup: 'compact',
  // The next use is written in a minute.
  unreadable: 'skipped',
  partitions: 1,
};

export const accounts: Topic<Account> = {
  name: 'accounts.v1',
  schema: 'account',
  key: (of) => of.accountId,
  cleanup: 'compact',
  partitions: 1,
};

export const memberships: Topic<Membership> = {
  name: 'memberships.v1',
  schema: 'membership',
  key: membershipKey,
  cleanup: 'compact',
  partitions: 1,
};

export const invitations: Topic<Invitation> = {
  name: 'invitations.v1',
  schema: 'invitation',
  key: (of) => of.invitationId,
  cleanup: 'compact',
  partitions: 1,
};

export const peopleCommands: Topic<PeopleCommand> = {
  name: 'people-commands.v1',
  schema: 'people-command',
  key: (of) => of.orgId,
  flaw: flawOfPeopleCommand,
  cleanup: 'delete',
  keptMs: commandsKeptMs,
  partitions: 1,
};

export const sessions: Topic<Session> = {
  name: 'sessions.v1',
  schema: 'session',
  key: (of) => of.sessionId,
  cleanup: 'compact',
  partitions: 1,
};

export const sessionUses: Topic<SessionUse> = {
  name: 'session-uses.v1',
  schema: 'session-use',
  key: (of) => of.sessionId,
  cleanup: 'compact',
  // The use before still tells that the session lasts.
  unreadable: 'skipped',
  partitions: 1,
};

export const projections: Topic<Projection> = {
  name: 'projections.v1',
  schema: 'projection',
  key: (of) => of.projection,
  cleanup: 'compact',
  partitions: 1,
};

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

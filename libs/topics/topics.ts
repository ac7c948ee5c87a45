import type { AnyTopic, Topic } from '#log';
import {
  flawOfCommand,
  flawOfEvents,
  flawOfKeyCommand,
  flawOfPoints,
  flawOfSource,
  type ApiKey,
  type Command,
  type CommandState,
  type EventBatch,
  type Gateway,
  type KeyCommand,
  type KeyDecisions,
  type Organization,
  type PointBatch,
  type Presence,
  type Projection,
  type Source,
} from '#model';

/** Key of everything that belongs to one source. An org id holds no slash, so the key has one reading. */
export const sourceKey = (of: { readonly orgId: string; readonly sourceId: string }): string => `${of.orgId}/${of.sourceId}`;

/** Key of one command. */
export const commandKey = (of: { readonly orgId: string; readonly sourceId: string; readonly commandId: string }): string =>
  `${sourceKey(of)}/${of.commandId}`;

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
  partitions: 24,
};

export const organizations: Topic<Organization> = {
  name: 'organizations.v1',
  schema: 'organization',
  key: (of) => of.orgId,
  cleanup: 'compact',
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
  partitions: 1,
};

export const keyDecisions: Topic<KeyDecisions> = {
  name: 'key-decisions.v1',
  schema: 'key-decisions',
  key: (of) => of.orgId,
  cleanup: 'compact',
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
  organizations,
  apiKeys,
  keyCommands,
  keyDecisions,
  projections,
];

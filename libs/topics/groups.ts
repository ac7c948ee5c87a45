import type { Group } from '#log';
import {
  accounts,
  alertCommands,
  alertNotes,
  alertTargets,
  alerts,
  apiKeys,
  audit,
  claimCommands,
  claims,
  events,
  keyCommands,
  keyUses,
  invitations,
  memberships,
  monitorCommands,
  monitors,
  notices,
  organizationCommands,
  organizations,
  outcomes,
  peopleCommands,
  points,
  sourceAlerts,
  sources,
  targetCommands,
} from './topics.js';

export const seriesGroup: Group = {
  name: 'series',
  inputs: [points],
  outputs: [],
  kind: 'projector',
  role: 'processors',
  from: 'beginning',
  mayReplay: true,
  perGeneration: true,
};

export const eventsGroup: Group = { ...seriesGroup, name: 'events', inputs: [events] };

export const sourcesGroup: Group = {
  name: 'sources',
  inputs: [points, events],
  outputs: [sources],
  kind: 'reactor',
  role: 'processors',
  from: 'beginning',
  mayReplay: true,
  perGeneration: false,
};

/** It makes nothing of commands that it reads again, for they have waited for too long: a replay that forgets what it has made would end all keys. */
export const keysGroup: Group = {
  ...sourcesGroup,
  name: 'keys',
  inputs: [keyCommands],
  outputs: [apiKeys, keyUses, audit, outcomes],
  mayReplay: false,
};

/** Everything else that people change: the topics of commands, and those that their effects go to. */
export const decisionsGroup: Group = {
  ...keysGroup,
  name: 'decisions',
  inputs: [claimCommands, monitorCommands, alertCommands, peopleCommands, targetCommands, organizationCommands],
  outputs: [claims, monitors, alertTargets, alertNotes, accounts, memberships, invitations, organizations, audit, outcomes],
};

/** What came before it first ran is no news to anybody, and people are not told twice. */
export const monitorsGroup: Group = {
  ...sourcesGroup,
  name: 'monitors',
  outputs: [alerts, events],
  from: 'end',
  mayReplay: false,
};

export const sourceAlertsGroup: Group = { ...sourcesGroup, name: 'source-alerts', inputs: [alerts], outputs: [sourceAlerts] };

/** Says to which targets each transition goes. */
export const noticesGroup: Group = { ...monitorsGroup, name: 'notices', inputs: [alerts], outputs: [notices] };

/** Tells targets. What waits for them from the first one on is told. */
export const deliveriesGroup: Group = {
  ...monitorsGroup,
  name: 'deliveries',
  inputs: [notices],
  outputs: [targetCommands],
  from: 'beginning',
};

/** Every consumer group that processes records, each once however many generations there are. */
export const groups: readonly Group[] = [
  seriesGroup,
  eventsGroup,
  sourcesGroup,
  keysGroup,
  decisionsGroup,
  monitorsGroup,
  sourceAlertsGroup,
  noticesGroup,
  deliveriesGroup,
];

/** Those that each generation of the stores has. */
export const groupsPerGeneration = groups.filter(({ perGeneration }) => perGeneration);

import type { Group } from '#log';
import { apiKeys, events, keyCommands, points, sources } from './topics.js';

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

/** It may be moved back, and makes nothing of what it reads again: those commands have waited for too long. */
export const keysGroup: Group = { ...sourcesGroup, name: 'keys', inputs: [keyCommands], outputs: [apiKeys] };

/** Every consumer group that processes records, each once however many generations there are. */
export const groups: readonly Group[] = [seriesGroup, eventsGroup, sourcesGroup, keysGroup];

/** Those that each generation of the stores has. */
export const groupsPerGeneration = groups.filter(({ perGeneration }) => perGeneration);

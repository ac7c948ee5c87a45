import type { CommandBody } from './command.js';

interface CommandEntry {
  readonly summary: string;
  load(): Promise<CommandBody>;
}

/** Every command there is, in the order of the help. The file of a command is loaded when it is called; commands of two words share one. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  serve: { summary: 'Start the server; the same as `npm start`', load: async () => (await import('./serve.js')).body },
  init: {
    summary: 'Store the URL and the API key of a server for the other commands; or make what all roles need',
    load: async () => (await import('./init.js')).body,
  },
  login: {
    summary: 'Get an API key that somebody approves in a browser, and store it',
    load: async () => (await import('./login.js')).body,
  },
  import: { summary: 'Send the points of a CSV file', load: async () => (await import('./import.js')).body },
  export: { summary: 'Write the points or rollups of a source as CSV', load: async () => (await import('./export.js')).body },
  copy: { summary: 'Copy what devices have sent from one server to another', load: async () => (await import('./copy.js')).body },
  command: { summary: 'Send a command to a device, and wait for its result', load: async () => (await import('./send-command.js')).body },
  tail: { summary: 'Print the points or events of a source as they come', load: async () => (await import('./tail.js')).body },
  'sources delete': { summary: 'Delete what a device has sent', load: async () => (await import('./sources-delete.js')).body },
  simulate: { summary: 'Let devices send believable data, to try things out', load: async () => (await import('./simulate.js')).body },
  'keys create': { summary: 'Create an API key and print it once', load: async () => (await import('./keys.js')).create },
  'keys list': { summary: 'List the API keys of the organization', load: async () => (await import('./keys.js')).list },
  'keys delete': { summary: 'Delete an API key', load: async () => (await import('./keys.js')).remove },
  'org list': { summary: 'List the organizations and their limits', load: async () => (await import('./org.js')).list },
  'org create': { summary: 'Create an organization with its first key', load: async () => (await import('./org.js')).create },
  'org set': { summary: 'Change the rates, limits or payment of an organization', load: async () => (await import('./org.js')).set },
  'org delete': { summary: 'Delete an organization and all that it has', load: async () => (await import('./org.js')).remove },
  'people list': { summary: 'List the people of an organization', load: async () => (await import('./people.js')).list },
  'people invite': {
    summary: 'Make a link by which one person joins an organization',
    load: async () => (await import('./people.js')).invite,
  },
  'people remove': { summary: 'Remove a person from an organization', load: async () => (await import('./people.js')).remove },
  'people reset': { summary: 'Make a link that sets another password', load: async () => (await import('./people.js')).reset },
  topics: {
    summary: 'List the topics of the data plane and how far each consumer group is',
    load: async () => (await import('./topics.js')).body,
  },
  replay: {
    summary: 'Let a consumer group of the data plane begin again from somewhere',
    load: async () => (await import('./replay.js')).body,
  },
  'dlq list': { summary: 'List the topics of the data plane that have dead letters', load: async () => (await import('./dlq.js')).list },
  'dlq show': { summary: 'Show dead letters of a topic', load: async () => (await import('./dlq.js')).show },
  'dlq redrive': { summary: 'Send dead letters back to their topic', load: async () => (await import('./dlq.js')).redrive },
  'dlq purge': { summary: 'Delete dead letters for good', load: async () => (await import('./dlq.js')).purge },
  'views list': {
    summary: 'List the records of compacted topics that cannot be read',
    load: async () => (await import('./views.js')).list,
  },
  'views remove': { summary: 'End such keys with tombstones', load: async () => (await import('./views.js')).remove },
  verify: {
    summary: 'Compare what a stopped server, or the data plane, answers with the log',
    load: async () => (await import('./verify.js')).body,
  },
  trim: { summary: 'Take devices out of a data folder that is too large to open', load: async () => (await import('./trim.js')).body },
  backup: { summary: 'Copy the data of a server, running or stopped', load: async () => (await import('./backup.js')).body },
  restore: { summary: 'Make a data folder of a backup', load: async () => (await import('./restore.js')).body },
  rebuild: { summary: 'Make the projections anew from the log', load: async () => (await import('./rebuild.js')).body },
};

import type { CommandBody } from './command.js';

interface CommandEntry {
  readonly summary: string;
  load(): Promise<{ readonly body: CommandBody }>;
}

/** Every command there is, in the order of the help. The file of a command is loaded when it is called. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  serve: { summary: 'Start the server; the same as `npm start`', load: () => import('./serve.js') },
  init: {
    summary: 'Store the URL and the API key of a server for the other commands; or make what all roles need',
    load: () => import('./init.js'),
  },
  login: { summary: 'Get an API key that somebody approves in a browser, and store it', load: () => import('./login.js') },
  import: { summary: 'Send the points of a CSV file', load: () => import('./import.js') },
  export: { summary: 'Write the points or rollups of a source as CSV', load: () => import('./export.js') },
  copy: { summary: 'Copy what devices have sent from one server to another', load: () => import('./copy.js') },
  command: { summary: 'Send a command to a device, and wait for its result', load: () => import('./send-command.js') },
  tail: { summary: 'Print the points or events of a source as they come', load: () => import('./tail.js') },
  'sources delete': { summary: 'Delete what a device has sent', load: () => import('./sources-delete.js') },
  simulate: { summary: 'Let devices send believable data, to try things out', load: () => import('./simulate.js') },
  'keys create': { summary: 'Create an API key and print it once', load: () => import('./keys-create.js') },
  'keys list': { summary: 'List the API keys of the organization', load: () => import('./keys-list.js') },
  'keys delete': { summary: 'Delete an API key', load: () => import('./keys-delete.js') },
  'org list': { summary: 'List the organizations and their limits', load: () => import('./org-list.js') },
  'org create': { summary: 'Create an organization with its first key', load: () => import('./org-create.js') },
  'org set': { summary: 'Change the rates, limits or payment of an organization', load: () => import('./org-set.js') },
  'org delete': { summary: 'Delete an organization and all that it has', load: () => import('./org-delete.js') },
  'people list': { summary: 'List the people of an organization', load: () => import('./people-list.js') },
  'people invite': { summary: 'Make a link by which one person joins an organization', load: () => import('./people-invite.js') },
  'people remove': { summary: 'Remove a person from an organization', load: () => import('./people-remove.js') },
  'people reset': { summary: 'Make a link that sets another password', load: () => import('./people-reset.js') },
  topics: { summary: 'List the topics of the data plane and how far each consumer group is', load: () => import('./topics.js') },
  replay: { summary: 'Let a consumer group of the data plane begin again from somewhere', load: () => import('./replay.js') },
  'dlq list': { summary: 'List the topics of the data plane that have dead letters', load: () => import('./dlq-list.js') },
  'dlq show': { summary: 'Show dead letters of a topic', load: () => import('./dlq-show.js') },
  'dlq redrive': { summary: 'Send dead letters back to their topic', load: () => import('./dlq-redrive.js') },
  'dlq purge': { summary: 'Delete dead letters for good', load: () => import('./dlq-purge.js') },
  'views list': { summary: 'List the records of compacted topics that cannot be read', load: () => import('./views-list.js') },
  'views remove': { summary: 'End such keys with tombstones', load: () => import('./views-remove.js') },
  verify: { summary: 'Compare what a stopped server, or the data plane, answers with the log', load: () => import('./verify.js') },
  trim: { summary: 'Take devices out of a data folder that is too large to open', load: () => import('./trim.js') },
  backup: { summary: 'Copy the data of a server, running or stopped', load: () => import('./backup.js') },
  restore: { summary: 'Make a data folder of a backup', load: () => import('./restore.js') },
  rebuild: { summary: 'Make the projections anew from the log', load: () => import('./rebuild.js') },
};

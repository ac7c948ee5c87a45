import { entry } from '#log';
import {
  changeInWords,
  organizationDecider,
  type OrganizationCommand,
  type OrganizationEvent,
  type OrganizationOutcome,
  type OrganizationState,
} from '#model';
import { organizationCommands, organizations } from '#topics';
import type { Area } from './area.js';

/** What is known of each organization beside its people and its things. */
export const organizationsArea: Area<OrganizationState, OrganizationCommand, OrganizationEvent, OrganizationOutcome> = {
  name: 'organizations',
  topic: organizationCommands,
  topics: [organizations],
  decider: organizationDecider,

  stateIn: (views) => (orgId) => ({ organization: views.open(organizations).get(orgId) }),

  outcomeOf: ({ outcome: word, orgId: about }) => ({ word, about }),

  effectsOf: ({ after }) => (after ? [entry(organizations, after)] : []),

  auditOf({ orgId: about, outcome, before, after }) {
    if (!after) return [];
    // What tells of an organization that is deleted goes with it.
    if (outcome === 'deleted') return [{ did: 'organization.deleted', about, text: after.name, orgId: '' }];
    return [{ did: `organization.${outcome}`, about, text: changeInWords(before, after) }];
  },
};

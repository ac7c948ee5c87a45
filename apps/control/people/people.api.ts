import { z } from 'zod';
import type { Operation } from '#edge';
import { auditList, auditQuery } from './audit.js';
import { listedOrganization, organizationChange } from './organizations.js';
import {
  acceptance,
  createdInvitation,
  listedInvitation,
  newInvitation,
  newPassword,
  passwordReset,
  person,
  personChange,
} from './people.js';
import { whoami } from './sign-in.js';

const people = { tag: 'People', access: { may: 'people', payment: false } } as const;
const organizations = { tag: 'People', access: { may: 'organization', payment: false } } as const;
const open = { tag: 'Signing in', access: { key: false, cors: false } } as const;
const cookie = { 'Set-Cookie': 'A new session.' };
const id = (what: string): z.ZodObject => z.object({ id: z.string().meta({ description: `The \`id\` of the ${what} in the list.` }) });

/** People of an organization, invitations, and passwords. */
export const peopleOperations: readonly Operation[] = [
  {
    ...people,
    id: 'listPeople',
    method: 'get',
    path: '/api/people',
    summary: 'List the people of the organization',
    answers: { 200: { description: 'The people, at most 1,000, the longest first.', schema: z.array(person) } },
  },
  {
    ...people,
    id: 'changePerson',
    method: 'patch',
    path: '/api/people/{id}',
    summary: 'Give a person another role',
    params: id('person'),
    body: personChange,
    answers: { 200: { description: 'The person, who has the role from now on.', schema: person } },
    errors: ['invalid_body', 'unknown_person', 'last_owner'],
  },
  {
    ...people,
    id: 'removePerson',
    method: 'delete',
    path: '/api/people/{id}',
    summary: 'Remove a person from the organization',
    description: 'The account stays, and so do the keys that the person has made.',
    params: id('person'),
    answers: { 204: { description: 'The person does not belong to the organization any more.' } },
    errors: ['unknown_person', 'last_owner'],
  },
  {
    ...people,
    id: 'listInvitations',
    method: 'get',
    path: '/api/invitations',
    summary: 'List the invitations that can be used',
    answers: {
      200: { description: 'The invitations, at most 100, the one that ends first before the others.', schema: z.array(listedInvitation) },
    },
  },
  {
    ...people,
    id: 'invite',
    method: 'post',
    path: '/api/invitations',
    summary: 'Invite a person',
    description: 'Answers with a link, which one person can use within 7 days.',
    body: newInvitation,
    answers: { 201: { description: 'The invitation.', schema: createdInvitation } },
    errors: ['invalid_body', 'too_many_people'],
  },
  {
    ...people,
    id: 'withdrawInvitation',
    method: 'delete',
    path: '/api/invitations/{id}',
    summary: 'Withdraw an invitation',
    params: id('invitation'),
    answers: { 204: { description: 'The link is worth nothing any more.' } },
    errors: ['unknown_invitation'],
  },
  {
    tag: 'People',
    access: { may: 'audit', payment: false },
    id: 'getAudit',
    method: 'get',
    path: '/api/audit',
    summary: 'What was changed in the organization, and by whom',
    description: 'The newest changes that people, keys and the operator have made: 250 of each kind of thing, such as monitors.',
    query: auditQuery,
    answers: { 200: { description: 'The entries, newest first.', schema: auditList } },
    errors: ['invalid_parameter', 'invalid_limit'],
  },
  {
    ...organizations,
    id: 'listOrganizations',
    method: 'get',
    path: '/api/organizations',
    summary: 'List organizations',
    description: 'The own one for an owner, and all for a key of the operator: one of the organization that the first start has made.',
    answers: { 200: { description: 'The organizations.', schema: z.array(listedOrganization) } },
  },
  {
    ...organizations,
    id: 'changeOrganization',
    method: 'patch',
    path: '/api/organizations/{id}',
    summary: 'Change an organization',
    description: 'What is left out stays as it is. Every role goes by the change within 10 seconds.',
    params: id('organization'),
    body: organizationChange,
    answers: { 200: { description: 'The organization as it is from now on.', schema: listedOrganization } },
    errors: ['invalid_body', 'unknown_organization'],
  },
  {
    ...open,
    id: 'acceptInvitation',
    method: 'post',
    path: '/api/invitations/accept',
    summary: 'Accept an invitation',
    description: 'As who has signed in, or with a new account, which is signed in then. A password has 12 characters or more.',
    body: acceptance,
    answers: { 200: { description: 'Who has signed in.', schema: whoami, headers: cookie } },
    errors: [
      'invalid_body',
      'not_signed_in',
      'unknown_invitation',
      'foreign_invitation',
      'email_taken',
      'already_member',
      'too_many_people',
      'log_unavailable',
    ],
  },
  {
    tag: 'Signing in',
    access: { key: false, person: true, cors: false },
    id: 'changePassword',
    method: 'post',
    path: '/api/auth/password',
    summary: 'Set another password',
    description: 'Ends all sessions of the person and begins a new one.',
    body: newPassword,
    answers: { 200: { description: 'Who has signed in.', schema: whoami, headers: cookie } },
    errors: ['invalid_body', 'wrong_password', 'too_many_sign_ins'],
  },
  {
    ...open,
    id: 'resetPassword',
    method: 'post',
    path: '/api/auth/password/reset',
    summary: 'Set another password by a link',
    description:
      'The link comes by mail from the page `/forgot`, or from the operator: `headwater people reset`. Ends all sessions of the person and begins a new one.',
    body: passwordReset,
    answers: { 200: { description: 'Who has signed in.', schema: whoami, headers: cookie } },
    errors: ['invalid_body', 'unknown_reset', 'log_unavailable'],
  },
];

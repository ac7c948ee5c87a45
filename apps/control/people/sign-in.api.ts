import { z } from 'zod';
import type { Operation } from '#edge';
import { listedSession, signInBody, whoami } from './sign-in.js';

const open = { tag: 'Signing in', access: { key: false, cors: false } } as const;
const own = { tag: 'Signing in', access: { key: false, person: true, cors: false } } as const;
const cookie = { 'Set-Cookie': 'The session, for 30 days from its last use.' };

/** Sessions of people. */
export const signInOperations: readonly Operation[] = [
  {
    ...open,
    id: 'signIn',
    method: 'post',
    path: '/api/auth/sign-in',
    summary: 'Sign in',
    description:
      'Answers with a cookie, which stands for the person from then on. Too many wrong passwords are 429 for a quarter of an hour; a browser or an address from which the person has signed in before has attempts of its own.',
    body: signInBody,
    answers: { 200: { description: 'Who has signed in.', schema: whoami, headers: cookie } },
    errors: ['invalid_body', 'wrong_password', 'not_signed_in', 'too_many_sign_ins', 'log_unavailable'],
  },
  {
    ...open,
    id: 'signOut',
    method: 'post',
    path: '/api/auth/sign-out',
    summary: 'Sign out',
    description: 'Ends the session of the cookie everywhere. Where there is none it changes nothing.',
    answers: { 204: { description: 'Nobody has signed in here now.', headers: { 'Set-Cookie': 'Ends the cookie.' } } },
    errors: ['log_unavailable'],
  },
  {
    ...own,
    id: 'getSession',
    method: 'get',
    path: '/api/auth/session',
    summary: 'Who has signed in, and for which organizations',
    answers: { 200: { description: 'The person.', schema: whoami } },
  },
  {
    ...own,
    id: 'listSessions',
    method: 'get',
    path: '/api/auth/sessions',
    summary: 'List the sessions of the person',
    answers: { 200: { description: 'The sessions, at most 50, the one that was used last first.', schema: z.array(listedSession) } },
  },
  {
    ...own,
    id: 'endSession',
    method: 'delete',
    path: '/api/auth/sessions/{id}',
    summary: 'End a session',
    description: 'It stops working everywhere within 10 seconds.',
    params: z.object({ id: z.string().meta({ description: 'The `id` of the session in the list.' }) }),
    answers: { 204: { description: 'The session is ended.' } },
    errors: ['unknown_session'],
  },
];

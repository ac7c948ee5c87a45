import { z } from 'zod';
import type { Operation } from '#edge';
import { scopes } from '#model';
import { claimOperations } from './claims/claims.api.js';
import { explainedCodes } from './error-page.js';
import { alertOperations } from './alerts/alerts.api.js';
import { monitorOperations } from './monitors/monitors.api.js';
import { createdKey, listedKey, newKey, sourcePatterns } from './keys.js';
import { peopleOperations } from './people/people.api.js';
import { signInOperations } from './people/sign-in.api.js';
import { targetOperations } from './targets/targets.api.js';

const keys = { tag: 'Keys', access: { may: 'keys', payment: false } } as const;
const docs = { method: 'get', tag: 'About', access: { key: false } } as const;

/** Keys, people, targets of alerts, and what there is to read about the API. */
export const controlOperations: readonly Operation[] = [
  {
    ...keys,
    id: 'listKeys',
    method: 'get',
    path: '/api/api-keys',
    summary: 'List the keys of the organization',
    answers: { 200: { description: 'All keys, oldest first: at most 10,000.', schema: z.array(listedKey) } },
  },
  {
    ...keys,
    id: 'createKey',
    method: 'post',
    path: '/api/api-keys',
    summary: 'Make a key',
    description: 'Answers 503 when that takes longer than 5 seconds. Then nobody has the key, and you may ask again.',
    body: newKey,
    answers: { 201: { description: 'The key, which works from now on and is shown this once.', schema: createdKey } },
    errors: ['invalid_body', 'too_many_keys'],
  },
  {
    ...keys,
    id: 'deleteKey',
    method: 'delete',
    path: '/api/api-keys/{id}',
    summary: 'Delete a key',
    description:
      'It stops working everywhere within 10 seconds. Answers 503 when the deletion takes longer than 5 seconds: ask again. To change keys without a gap make the new one first. The last key with the scope `admin` can be deleted too: then `headwater keys create --scopes read,write,admin --data` on the folder of the stopped server makes another.',
    params: z.object({ id: z.string().meta({ description: 'The `id` of the key in the list.' }) }),
    answers: { 204: { description: 'The key is deleted.' } },
    errors: ['unknown_api_key'],
  },
  {
    id: 'verifyKey',
    method: 'get',
    path: '/api/auth/verify-key',
    tag: 'Keys',
    summary: 'Whose key this is and what it may do',
    access: { payment: false },
    answers: {
      200: {
        description: 'The key is valid. Without `sources` it is for every source.',
        schema: z.object({ org_id: z.string(), scopes: z.array(z.enum(scopes)), sources: sourcePatterns.optional() }),
      },
    },
  },
  ...signInOperations,
  ...peopleOperations,
  ...monitorOperations,
  ...alertOperations,
  ...claimOperations,
  ...targetOperations,
  {
    ...docs,
    id: 'getOpenApi',
    path: '/openapi.json',
    summary: 'This document',
    answers: { 200: { description: 'OpenAPI 3.1.', schema: z.record(z.string(), z.unknown()) } },
  },
  {
    ...docs,
    id: 'getAsyncApi',
    path: '/asyncapi.json',
    summary: 'The WebSockets of the API, frame by frame',
    answers: { 200: { description: 'AsyncAPI 3.0.', schema: z.record(z.string(), z.unknown()) } },
  },
  {
    ...docs,
    id: 'getErrorPage',
    path: '/errors/{code}',
    summary: 'What an error code means and what to do',
    params: z.object({ code: z.enum(explainedCodes).meta({ description: 'The `code` of a problem, or of one of its `errors`.' }) }),
    answers: { 200: { description: 'The page.', schema: z.string(), mediaType: 'text/plain' } },
    errors: ['unknown_route'],
  },
];

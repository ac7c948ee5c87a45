import { z } from 'zod';
import { problemContentType, statusOf, type Operation } from '#edge';
import { errorCases, flawCases, type ErrorCode, type FlawCode } from '#model';
import type { Components, Json } from './components.js';

const flawCodes: readonly (FlawCode | 'invalid_body')[] = [...(Object.keys(flawCases) as FlawCode[]), 'invalid_body'];

const flaw = z.object({
  pointer: z.string().meta({ description: 'JSON pointer (RFC 6901) into the body.' }),
  code: z.enum(flawCodes).meta({ description: '`GET /errors/{code}` explains these too.' }),
  detail: z.string().meta({ description: 'A sentence that says what to change.' }),
});

/** What every error looks like. */
const problemSchema = z
  .object({
    type: z.string().meta({ description: 'Address of the page about the code.', format: 'uri-reference' }),
    title: z.string().meta({ description: 'Says the same for every error of this code.' }),
    status: z.int().min(400).max(599),
    detail: z.string().meta({ description: 'A sentence that says what to change.' }),
    code: z.enum(Object.keys(errorCases) as ErrorCode[]),
    error: z.string().meta({ description: 'The same sentence as `detail`, for older clients.' }),
    request_id: z.string(),
    errors: z.array(flaw).max(20).optional().meta({ description: 'The first 20 things that are wrong with the body.' }),
    reasons: z.array(z.string()).optional().meta({ description: 'With `not_ready`: what the server waits for.' }),
  })
  .meta({ id: 'Problem', description: 'RFC 9457.' });

/** `not_ready` too: what stands before a role that is away answers for it. */
const anyRequest: readonly ErrorCode[] = ['invalid_request', 'uri_too_long', 'headers_too_large', 'slow_body', 'not_ready', 'internal'];
const withKey: readonly ErrorCode[] = ['invalid_key', 'too_many_failed_keys', 'over_rate', 'log_unavailable'];
/** What changes nothing may be asked for by any page. */
const fromBrowser = (method: Operation['method']): readonly ErrorCode[] => (method === 'get' ? [] : ['cross_site']);
/** A body is looked at wherever one is sent, with a GET as well. */
const anyBody: readonly ErrorCode[] = [
  'unsupported_content_type',
  'unsupported_content_encoding',
  'body_too_large',
  'over_rate',
  'overloaded',
];
const withBody: readonly ErrorCode[] = ['invalid_json', 'json_too_deep'];

const retryAfter = { description: 'Seconds to wait before the same request may succeed.', schema: { type: 'integer', minimum: 1 } };
const challenge = { description: '`ApiKey`, or `Session` where a person has to sign in.', schema: { type: 'string' } };
const accepted = { description: 'The one encoding that is understood: gzip.', schema: { type: 'string' } };

/** The errors of an operation, by status: what any request may get, what follows from its access and body, and its own. */
export function problemsOf(operation: Operation, components: Components): Json {
  const byStatus = Map.groupBy(codesOf(operation), (code) => statusOf[errorCases[code].kind]);
  return Object.fromEntries(
    Array.from(byStatus, ([status, codes]) => [status, components.response(codes.join('.'), describe(status, codes, components))]),
  );
}

function codesOf({ method, access, body, errors = [] }: Operation): readonly ErrorCode[] {
  const codes = new Set([...anyRequest, ...errors]);
  const add = (more: readonly ErrorCode[]): void => {
    for (const code of more) codes.add(code);
  };
  if (access.key !== false) add(access.payment === false ? withKey : [...withKey, 'payment_required']);
  // Where no scope is needed an organization may have one enforced.
  if (access.scope || access.may || (access.key !== false && access.payment !== false)) add(['missing_scope']);
  if (access.may) add(['no_organization', 'missing_role', ...fromBrowser(method)]);
  if (access.person) add(['not_signed_in', 'log_unavailable']);
  if (access.cors === false) add(fromBrowser(method));
  if (access.body !== false) add(method === 'get' ? anyBody : [...anyBody, 'invalid_gzip']);
  if (body) add(withBody);
  return [...codes].toSorted();
}

function describe(status: number, codes: readonly ErrorCode[], components: Components): Json {
  const headers = {
    ...(status === 401 && { 'WWW-Authenticate': challenge }),
    ...(status === 415 && { 'Accept-Encoding': accepted }),
    ...((status === 429 || status === 503) && { 'Retry-After': retryAfter }),
  };
  const schema = {
    allOf: [components.schema(problemSchema, 'output'), { properties: { status: { const: status }, code: { enum: codes } } }],
  };
  return {
    description: codes.map((code) => `\`${code}\`: ${errorCases[code].title}.`).join('\n'),
    ...(Object.keys(headers).length > 0 && { headers }),
    content: { [problemContentType]: { schema } },
  };
}

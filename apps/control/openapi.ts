import { z } from 'zod';
import { problemContentType, statusOf, type Answer, type Operation } from '#edge';
import { errorCases, type ErrorCode } from '#model';
import { problemSchema } from './problem-schema.js';

type Json = Readonly<Record<string, unknown>>;
type Schemas = Record<string, unknown>;

const anyRequest: readonly ErrorCode[] = ['invalid_request', 'uri_too_long', 'headers_too_large', 'slow_body', 'shutting_down', 'internal'];
const withKey: readonly ErrorCode[] = ['invalid_key', 'too_many_failed_keys', 'over_rate', 'overloaded', 'log_unavailable'];
const withBody: readonly ErrorCode[] = [
  'invalid_json',
  'invalid_gzip',
  'unsupported_content_type',
  'unsupported_content_encoding',
  'body_too_large',
  'overloaded',
];

const about = {
  title: 'Headwater',
  summary: 'Device telemetry on an event log.',
  description: [
    'Devices post numbers and events; Headwater answers with series, exact rollups, latest values and event logs.',
    'Every error is an RFC 9457 problem with a `code` from a closed list; `GET /errors/{code}` says what to do about each.',
    'A `GET` route answers `HEAD` too, with the same headers and no body. Parameters that a route does not know are ignored;',
    'one that it knows may be sent once. In query strings `+` means a space, but in `start` and `end` it means itself.',
    'Answers may gain fields: ignore those you do not know.',
  ].join('\n'),
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
};

const apiKey = {
  type: 'apiKey',
  in: 'header',
  name: 'x-api-key',
  description: 'A key of an organization. Its scopes are read, write and admin; an operation that needs one names it.',
};

const retryAfter = { description: 'Seconds to wait before the same request may succeed.', schema: { type: 'integer', minimum: 1 } };
const challenge = { description: 'Always `ApiKey`.', schema: { type: 'string' } };
const accepted = { description: 'The one encoding that is understood: gzip.', schema: { type: 'string' } };

/** The OpenAPI 3.1 document of these operations. @throws Error when two of them have one id, or one method and path. */
export function openApi(operations: readonly Operation[], version: string): Json {
  const schemas: Schemas = {};
  const problem = describe(problemSchema, 'output', schemas);
  const paths: Record<string, Record<string, Json>> = {};
  const ids = new Set<string>();
  for (const operation of operations) {
    const path = (paths[operation.path] ??= {});
    if (path[operation.method] || ids.has(operation.id)) throw new Error(`${operation.id} is described twice`);
    ids.add(operation.id);
    path[operation.method] = describeOperation(operation, schemas, problem);
  }
  return {
    openapi: '3.1.1',
    info: { ...about, version },
    servers: [{ url: '/', description: 'This server.' }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: { schemas: sorted(schemas), securitySchemes: { apiKey } },
  };
}

function describeOperation(operation: Operation, schemas: Schemas, problem: Json): Json {
  const { access } = operation;
  const parameters = [...parametersOf(operation.params, 'path', schemas), ...parametersOf(operation.query, 'query', schemas)];
  const scope = access.scope && `Needs a key with the scope \`${access.scope}\`.`;
  const description = [operation.description, scope].filter(Boolean).join('\n\n');
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(description && { description }),
    ...(operation.deprecated && { deprecated: true }),
    security: access.key === false ? [] : [{ apiKey: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(operation.body && {
      requestBody: { required: true, content: content('application/json', describe(operation.body, 'input', schemas)) },
    }),
    responses: { ...answersOf(operation, schemas), ...problemsOf(operation, problem) },
  };
}

function parametersOf(object: z.ZodObject | undefined, place: 'path' | 'query', schemas: Schemas): readonly Json[] {
  if (!object) return [];
  const { properties = {}, required = [] } = describe(object, 'input', schemas) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: place,
    required: required.includes(name),
    description,
    ...(schema['type'] === 'array' && { style: 'form', explode: false }),
    schema,
  }));
}

function answersOf({ answers }: Operation, schemas: Schemas): Json {
  return Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, describeAnswer(answer, schemas)]));
}

function describeAnswer({ description, schema, mediaType = 'application/json', headers }: Answer, schemas: Schemas): Json {
  return {
    description,
    ...(headers && {
      headers: Object.fromEntries(Object.entries(headers).map(([name, says]) => [name, { description: says, schema: { type: 'string' } }])),
    }),
    ...(schema && { content: content(mediaType, describe(schema, 'output', schemas)) }),
  };
}

function problemsOf({ access, body, errors = [] }: Operation, problem: Json): Json {
  const codes = new Set([
    ...anyRequest,
    ...(access.key === false ? [] : withKey),
    ...(access.key === false || access.payment === false ? [] : (['payment_required'] as const)),
    ...(access.scope ? (['missing_scope'] as const) : []),
    ...(body ? withBody : []),
    ...errors,
  ]);
  const byStatus = Map.groupBy([...codes].toSorted(), (code) => statusOf[errorCases[code].kind]);
  return Object.fromEntries([...byStatus].map(([status, some]) => [status, describeProblem(status, some, problem)]));
}

function describeProblem(status: number, codes: readonly ErrorCode[], problem: Json): Json {
  const headers = {
    ...(status === 401 && { 'WWW-Authenticate': challenge }),
    ...(status === 415 && { 'Accept-Encoding': accepted }),
    ...((status === 429 || status === 503) && { 'Retry-After': retryAfter }),
  };
  const schema = { allOf: [problem, { properties: { status: { const: status }, code: { enum: codes } } }] };
  return {
    description: codes.map((code) => `\`${code}\`: ${errorCases[code].title}.`).join('\n'),
    ...(Object.keys(headers).length > 0 && { headers }),
    content: content(problemContentType, schema),
  };
}

const content = (mediaType: string, schema: Json): Json => ({ [mediaType]: { schema } });

/** The JSON Schema of a zod type; types with an id of their own become components. */
function describe(type: z.ZodType, io: 'input' | 'output', schemas: Schemas): Json {
  const { $schema: _, $defs = {}, ...schema } = z.toJSONSchema(type, { target: 'draft-2020-12', io, override: loosen });
  const { $defs: components, ...here } = JSON.parse(
    JSON.stringify({ ...schema, $defs }).replaceAll('"#/$defs/', '"#/components/schemas/'),
  ) as { $defs: Schemas };
  Object.assign(schemas, components);
  return here;
}

/** Objects may have more fields than a client knows of; and that an integer is a safe one goes without saying. */
function loosen({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}

const sorted = (schemas: Schemas): Schemas => Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1)));

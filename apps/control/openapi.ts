import type { z } from 'zod';
import type { Access, Answer, Operation } from '#edge';
import { permissions, scopeFor, enforcedFor, type Permission } from '#model';
import { Components, type Json } from './components.js';
import { problemsOf } from './problem-responses.js';

const about = {
  title: 'Headwater',
  summary: 'Device telemetry on an event log.',
  description: [
    'Devices post numbers and events; Headwater answers with series, exact rollups, latest values and event logs.',
    'Every error is an RFC 9457 problem with a `code` from a closed list; `GET /errors/{code}` says what to do about each.',
    'A `GET` route answers `HEAD` too, with the same headers and no body. Parameters that a route does not know are ignored;',
    'one that it knows may be sent once. In query strings `+` means a space, but in `start` and `end` it means itself.',
    'Answers may gain fields: ignore those you do not know.',
    'The WebSockets, for devices that stay connected and for live streams, are described frame by frame in `/asyncapi.json` (AsyncAPI 3.0).',
  ].join('\n'),
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
};

const tags: Readonly<Record<string, string>> = {
  Ingest: 'The way in: points and events.',
  Devices: 'Which devices there are, whether they are connected, when they were last heard.',
  Metrics: 'Series, rollups and newest values of one device.',
  Logs: 'Events of one device.',
  'Live streams': 'What devices send, as it is accepted.',
  Fleet: 'All devices of the organization together.',
  Monitors: 'What is watched, and when it fires.',
  'Alert targets': 'Where alerts are told, and what was tried.',
  Keys: 'Keys of the organization.',
  People: 'Organizations, the people of one, invitations, and what they have changed.',
  'Signing in': 'Sessions of people, for browsers: a cookie in place of a key.',
  'Claiming a key': 'Keys for devices and commands: a person approves in a browser.',
  About: 'What a client, its author or a probe asks about the server itself.',
};

const apiKey = {
  type: 'apiKey',
  in: 'header',
  name: 'x-api-key',
  description: 'A key of an organization. Its scopes are read, write and admin; an operation that needs one names it.',
};

const session = {
  type: 'apiKey',
  in: 'cookie',
  name: 'headwater_session',
  description:
    'The session of a person, from `POST /api/auth/sign-in`. Where HEADWATER_PUBLIC_URL begins with https:// the name is `__Host-headwater_session`. ' +
    'Whoever belongs to several organizations names one in the header `x-organization-id`.',
};

/** The OpenAPI 3.1 document of these operations. @throws Error when two of them have one id, or one method and path. */
export function openApi(operations: readonly Operation[], version: string): Json {
  const components = new Components();
  const paths: Record<string, Record<string, Json>> = {};
  const ids = new Set<string>();
  for (const operation of operations) {
    const path = (paths[operation.path] ??= {});
    if (path[operation.method] || ids.has(operation.id)) throw new Error(`${operation.id} is described twice`);
    ids.add(operation.id);
    path[operation.method] = describeOperation(operation, components);
  }
  return {
    openapi: '3.1.1',
    info: { ...about, version },
    servers: [{ url: '/', description: 'This server.' }],
    tags: Array.from(new Set(operations.map(({ tag }) => tag)), (name) => ({ name, description: tags[name] })),
    paths,
    components: { ...components.toJSON(), securitySchemes: { apiKey, session } },
  };
}

function describeOperation(operation: Operation, components: Components): Json {
  const { access } = operation;
  const parameters = [...parametersOf(operation.params, 'path', components), ...parametersOf(operation.query, 'query', components)];
  const byKey = access.scope
    ? `Needs a key with the scope \`${access.scope}\`.`
    : access.changes && `Needs a key, ${whereEnforced('write')}.`;
  const scope = access.may ? needs(access.may) : byKey;
  const origin = access.cors === false && 'Browsers keep pages of other origins away.';
  const description = [operation.description, scope, origin].filter(Boolean).join('\n\n');
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(description && { description }),
    ...(operation.deprecated && { deprecated: true }),
    security: securityOf(access),
    ...(parameters.length > 0 && { parameters }),
    ...(operation.body && {
      requestBody: { required: true, content: content('application/json', components.schema(operation.body, 'input')) },
    }),
    responses: { ...answersOf(operation, components), ...problemsOf(operation, components) },
  };
}

function securityOf({ key, may, person }: Access): readonly Json[] {
  if (person) return [{ session: [] }];
  if (key === false) return [];
  if (!may) return [{ apiKey: [] }];
  return scopeFor(may) === 'none' ? [{ session: [] }] : [{ apiKey: [] }, { session: [] }];
}

const whereEnforced = (scope: string): string => `with the scope \`${scope}\` where its organization has scopes enforced`;

function needs(may: Permission): string {
  const bySession = `the session of an organization's ${permissions[may].roles.join(' or ')}`;
  const scope = scopeFor(may);
  if (scope === 'none') return `Needs ${bySession}.`;
  return `Needs ${scope === null ? `a key, ${whereEnforced(enforcedFor(may)!)}` : `a key with the scope \`${scope}\``}, or ${bySession}.`;
}

function parametersOf(object: z.ZodObject | undefined, place: 'path' | 'query', components: Components): readonly Json[] {
  if (!object) return [];
  const { properties = {}, required = [] } = components.schema(object, 'input') as {
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

function answersOf({ answers }: Operation, components: Components): Json {
  return Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, describeAnswer(answer, components)]));
}

function describeAnswer({ description, schema, mediaType = 'application/json', headers }: Answer, components: Components): Json {
  return {
    description,
    ...(headers && {
      headers: Object.fromEntries(Object.entries(headers).map(([name, says]) => [name, { description: says, schema: { type: 'string' } }])),
    }),
    ...(schema && { content: content(mediaType, components.schema(schema, 'output')) }),
  };
}

const content = (mediaType: string, schema: Json): Json => ({ [mediaType]: { schema } });

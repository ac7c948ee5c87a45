import type { Channel, ChannelMessage } from '#edge';
import { Components, type Json } from './components.js';

const about = {
  title: 'Headwater, live',
  description: [
    'The WebSockets of Headwater: devices that stay connected, and readers of what they send. `/openapi.json` describes all the rest.',
    'Every frame is one JSON object in text whose `type` says what it is; the first one brings the API key. Fields that nobody knows are ignored.',
    '`x-close-codes` says with which codes the server closes a socket, and when.',
  ].join('\n'),
  license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
};

const server = {
  host: '{host}',
  protocol: 'ws',
  description: 'The server that this document came from; `wss` where TLS stands before it.',
  variables: { host: { default: 'localhost:8080', description: 'Host and port.' } },
};

/** The AsyncAPI 3.0 document of these channels. @throws Error when two of them have one id or path. */
export function asyncApi(channels: readonly Channel[], version: string): Json {
  const components = new Components('draft-7');
  for (const key of ['id', 'path'] as const)
    if (new Set(channels.map((channel) => channel[key])).size < channels.length) throw new Error(`two channels have one ${key}`);
  return {
    asyncapi: '3.0.0',
    info: { ...about, version },
    defaultContentType: 'application/json',
    servers: { this: server },
    channels: Object.fromEntries(channels.map((channel) => [channel.id, describeChannel(channel, components)])),
    operations: Object.fromEntries(channels.flatMap((channel) => [operation(channel, 'receive'), operation(channel, 'send')])),
    components: { schemas: components.toJSON()['schemas'] },
  };
}

function describeChannel({ path, title, description, params, query, takes, sends, closes }: Channel, components: Components): Json {
  return {
    address: path,
    title,
    description,
    ...(params && { parameters: parametersOf(components.schema(params, 'input')) }),
    messages: { ...messagesOf(takes, 'input', components), ...messagesOf(sends, 'output', components) },
    bindings: { ws: { method: 'GET', ...(query && { query: components.schema(query, 'input') }), bindingVersion: '0.1.0' } },
    'x-close-codes': closes,
  };
}

/** A parameter of an address is text, of which AsyncAPI says no more than this. */
function parametersOf({ properties }: Json): Json {
  return Object.fromEntries(
    Object.entries(properties as Record<string, Json>).map(([name, { description, examples }]) => [name, { description, examples }]),
  );
}

function messagesOf(messages: Readonly<Record<string, ChannelMessage>>, io: 'input' | 'output', components: Components): Json {
  return Object.fromEntries(
    Object.entries(messages).map(([name, { summary, schema, examples }]) => [
      name,
      { name, summary, payload: components.schema(schema, io), examples: examples.map((payload) => ({ payload })) },
    ]),
  );
}

/** What the server takes or sends on a channel. */
function operation({ id, title, takes, sends }: Channel, action: 'receive' | 'send'): readonly [string, Json] {
  const [verb, messages] = action === 'receive' ? ['To', takes] : ['From', sends];
  return [
    `${id}${verb}Server`,
    {
      action,
      channel: { $ref: `#/channels/${id}` },
      title: `${title}: ${verb.toLowerCase()} the server`,
      messages: Object.keys(messages).map((name) => ({ $ref: `#/channels/${id}/messages/${name}` })),
    },
  ];
}

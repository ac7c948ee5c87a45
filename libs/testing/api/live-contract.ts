import { Ajv, type ValidateFunction } from 'ajv';
import type { WebSocket } from 'ws';

interface Message {
  readonly payload: { readonly properties: object };
  readonly examples: readonly { readonly payload: object }[];
}
interface Channel {
  readonly address: string;
  readonly messages: Readonly<Record<string, Message>>;
  readonly 'x-close-codes': Readonly<Record<string, string>>;
}
export interface AsyncApi {
  readonly asyncapi: string;
  readonly channels: Readonly<Record<string, Channel>>;
  readonly operations: Readonly<
    Record<string, { readonly action: Action; readonly channel: Reference; readonly messages: readonly Reference[] }>
  >;
}
interface Reference {
  readonly $ref: string;
}

/** What the server does: it receives what clients send. */
export type Action = 'send' | 'receive';

/** A peer may close without a code, or be cut off. */
const codesOfPeers = [1005, 1006];

/** Holds frames and close codes against the document that the server publishes about its WebSockets. */
export class LiveContract {
  /** What was not as the document says. */
  readonly complaints: string[] = [];
  /** Messages that were seen, by channel, for example `device send authenticated`. */
  readonly seen = new Set<string>();
  readonly #ajv = new Ajv({ strict: false });
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(readonly document: AsyncApi) {
    this.#ajv.addSchema({ $id: 'asyncapi', ...document });
  }

  /** Checks all that the server sends on a socket from now on, and how it is closed. */
  watch(socket: WebSocket, path: string): void {
    socket.on('message', (frame: Buffer) => this.check(path, 'send', frame.toString()));
    socket.on('close', (code) => {
      const [id, channel] = this.#channelOf(path);
      if (!channel['x-close-codes'][code] && !codesOfPeers.includes(code)) this.complaints.push(`${id} was closed with ${code}`);
    });
  }

  /** Checks a frame that was sent or received by the server. */
  check(path: string, action: Action, text: string): void {
    const [id] = this.#channelOf(path);
    const names = this.messages(id, action).filter((name) => this.isOne(id, name, JSON.parse(text) as object));
    for (const name of names) this.seen.add(`${id} ${action} ${name}`);
    if (names.length !== 1) this.complaints.push(`${id} ${action} ${text.slice(0, 300)} is ${names.join(' and ') || 'no message'}`);
  }

  /** The names of what the server sends or receives on a channel. */
  messages(id: string, action: Action): readonly string[] {
    const operations = Object.values(this.document.operations).filter(
      (operation) => operation.action === action && operation.channel.$ref === `#/channels/${id}`,
    );
    return operations.flatMap(({ messages }) => messages.map(({ $ref }) => $ref.split('/').at(-1)!));
  }

  /** Whether a frame is this message, without a field that the document does not name. */
  isOne(id: string, name: string, frame: object): boolean {
    const { properties } = this.document.channels[id]!.messages[name]!.payload;
    return (
      this.#validator(`asyncapi#/channels/${id}/messages/${name}/payload`)(frame) && Object.keys(frame).every((key) => key in properties)
    );
  }

  #channelOf(path: string): readonly [id: string, channel: Channel] {
    const [bare] = path.split('?', 1);
    const known = Object.entries(this.document.channels).find(([, { address }]) =>
      new RegExp(`^${address.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(bare!),
    );
    if (!known) throw new Error(`/asyncapi.json has no channel ${bare}`);
    return known;
  }

  #validator(reference: string): ValidateFunction {
    let validator = this.#validators.get(reference);
    if (!validator) this.#validators.set(reference, (validator = this.#ajv.compile({ $ref: reference })));
    return validator;
  }
}

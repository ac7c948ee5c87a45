import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { until } from '../until.js';

/** A message of a live stream, as it came. */
export interface Message {
  readonly type: string;
  readonly cursor?: string;
  readonly points?: readonly { readonly metric: string; readonly value: number; readonly timestamp: number }[];
  readonly [name: string]: unknown;
}

interface Options {
  /** Undefined sends no first frame. */
  readonly key?: string | undefined;
  /** Header of an event stream. */
  readonly lastEventId?: string | undefined;
  /** As a browser sends it: the first frame then has no key. */
  readonly cookie?: string | undefined;
  readonly origin?: string | undefined;
}

/** A reader of a live stream that keeps what came. */
export abstract class StreamClient {
  readonly messages: Message[] = [];
  /** Of the last message that had one. */
  cursor: string | undefined;
  /** Code and reason, once the server has closed the stream. */
  closed: { readonly code: number; readonly reason: string } | undefined;

  /** All points that came. */
  get points(): { readonly metric: string; readonly value: number; readonly timestamp: number }[] {
    return this.messages.flatMap(({ points = [] }) => [...points]);
  }

  /** Events that came. */
  get events(): Message[] {
    return this.messages.filter(({ type }) => type === 'event');
  }

  has(what: string, holds: () => boolean): Promise<void> {
    return until(`${what}; there is ${JSON.stringify(this.messages).slice(0, 2_000)}`, holds);
  }

  async closedWith(): Promise<number> {
    await until('the stream is closed', () => this.closed !== undefined);
    return this.closed!.code;
  }

  abstract cut(): void;

  protected take(message: Message, id = message.cursor): void {
    if (message.type !== 'cursor') this.messages.push(message);
    if (id) this.cursor = id;
  }
}

const given = (headers: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter((header): header is [string, string] => header[1] !== undefined));

export class SocketStream extends StreamClient {
  private constructor(readonly socket: WebSocket) {
    super();
    socket.on('message', (data: Buffer) => this.take(JSON.parse(data.toString()) as Message));
    socket.on('close', (code, reason) => (this.closed = { code, reason: reason.toString() }));
    socket.on('error', () => undefined);
  }

  /** @param base of HTTP. */
  static async open(base: string, path: string, { key, cookie, origin }: Options = {}): Promise<SocketStream> {
    const headers = given({ cookie, origin });
    const client = new SocketStream(new WebSocket(base.replace(/^http/, 'ws') + path, { headers }));
    await new Promise((resolve) => client.socket.once('open', resolve).once('close', resolve));
    if (key !== undefined) client.send({ type: 'auth', api_key: key });
    else if (cookie !== undefined) client.send({ type: 'auth' });
    return client;
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === 'string' || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame));
  }

  override cut(): void {
    this.socket.terminate();
  }
}

export class EventStream extends StreamClient {
  /** Comments that came. */
  comments = 0;
  #text = '';

  private constructor(readonly answer: IncomingMessage) {
    super();
    answer.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    answer.on('error', () => undefined);
  }

  static async open(base: string, path: string, { key, lastEventId, cookie, origin }: Options = {}): Promise<EventStream> {
    const headers = given({ accept: 'text/event-stream', 'x-api-key': key, 'last-event-id': lastEventId, cookie, origin });
    const asked = request(base + path, { agent: false, headers });
    asked.end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    return new EventStream(answer);
  }

  override cut(): void {
    this.answer.destroy();
  }

  /** As the HTML standard has it, for events of one line. */
  #read(text: string): void {
    const events = (this.#text + text).split('\n\n');
    this.#text = events.pop()!;
    for (const event of events) {
      const fields = new Map(event.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
      if (fields.has('')) this.comments++;
      const data = fields.get('data');
      if (fields.get('event') === 'close') this.closed = JSON.parse(data!) as StreamClient['closed'];
      else this.take(data === undefined ? { type: 'cursor' } : (JSON.parse(data) as Message), fields.get('id'));
    }
  }
}

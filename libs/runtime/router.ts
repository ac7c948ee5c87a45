import { Agent, createServer, request, ServerResponse, type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import {
  answerBrokenRequest,
  drainBody,
  isWebSocket,
  newRequestId,
  problemContentType,
  problemHeaders,
  problemOf,
  responseTo,
  statusOf,
  type ParserError,
} from '#edge';
import { TelemetryError } from '#model';
import { roleOf, type Role } from './roles.js';

export interface RouterOptions {
  /** Where the replicas of a role listen, for example `http://127.0.0.1:9001`. They take turns. */
  readonly targets: (role: Role) => readonly string[];
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** How many WebSockets may be open at the same time. */
  readonly maxSockets?: number;
  /** A role that does not answer a request for a WebSocket for this long is taken for away. */
  readonly upgradeMs?: number;
  /** A WebSocket on which neither side sends a byte for this long is cut off: both sides send pings more often. */
  readonly quietMs?: number;
}

export interface Router {
  /** Without a slash at its end. */
  readonly url: string;
  close(): Promise<void>;
}

/** A role itself refuses a body that takes longer than 30 s, so the router must wait a little longer. */
const headersTimeout = 30_000;
const requestTimeout = 35_000;
/**
 * As in the roles: longer than the minute for which proxies and clients keep a connection. Otherwise the router could close a connection
 * just as a client sends a request over it.
 */
const keepAliveTimeout = 72_000;
/** The default of `maxSockets`. */
export const maxWebSockets = 10_000;
const ofThisConnection = new Set(['connection', 'keep-alive', 'proxy-connection', 'upgrade']);

/**
 * Puts the roles behind one address. Request target, headers and bodies pass as they were sent, so that a client gets the same answers as
 * from the role itself. Only `x-forwarded-for` is replaced, by the client's true address. A WebSocket passes once its role has accepted the
 * upgrade.
 */
export async function startRouter({
  targets,
  host,
  port,
  maxSockets = maxWebSockets,
  upgradeMs = 5_000,
  quietMs = 75_000,
}: RouterOptions): Promise<Router> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer({
    headersTimeout,
    requestTimeout,
    keepAliveTimeout,
    connectionsCheckingInterval: 1000,
    requireHostHeader: false,
    shouldUpgradeCallback: isWebSocket,
  });
  const turns = new Map<Role, number>();
  const targetsOf = ({ url = '' }: IncomingMessage): readonly URL[] => {
    const role = roleOf(url);
    const replicas = targets(role);
    const turn = turns.get(role) ?? 0;
    turns.set(role, turn + 1);
    const first = turn % replicas.length;
    return [...replicas.slice(first), ...replicas.slice(0, first)].map((target) => new URL(target));
  };
  const pass = (incoming: IncomingMessage, response: ServerResponse): void => forward(incoming, response, targetsOf(incoming), agent);
  server.on('request', pass).on('checkContinue', pass).on('checkExpectation', pass);
  const upgraded = new Set<Socket>();
  server.on('upgrade', (incoming, socket: Socket, head) => {
    upgraded.add(socket.on('error', () => socket.destroy()).once('close', () => upgraded.delete(socket)));
    const response = responseTo(incoming, socket);
    if (upgraded.size > maxSockets)
      refuse(response, new TelemetryError('overloaded', 'Connect again in a moment: too many WebSockets are open.'));
    else forward(incoming, response, targetsOf(incoming), agent, { head, upgradeMs, quietMs });
  });
  server.on('clientError', (error, socket) => answerBrokenRequest(error as ParserError, socket as Socket, () => {}));
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        for (const socket of upgraded) socket.destroy();
        agent.destroy();
      }),
  };
}

/** A request for a WebSocket. */
interface Upgrade {
  /** The first bytes that the client has sent after its request. */
  readonly head: Buffer;
  readonly upgradeMs: number;
  readonly quietMs: number;
}

const silent = new Error('no answer to the request for a WebSocket');

/**
 * Asks the first target. When nobody listens there, nothing was sent, so the next target can be asked. It can also be asked when a request
 * for a WebSocket gets no answer, because such a request changes nothing.
 */
function forward(
  incoming: IncomingMessage,
  response: ServerResponse,
  [target, ...others]: readonly URL[],
  agent: Agent,
  upgrade?: Upgrade,
): void {
  if (!target) return refuse(response, new TelemetryError('not_ready', away));
  const { method, url: path } = incoming;
  const { hostname, port } = target;
  const outgoing = request({ agent: upgrade ? false : agent, hostname, port, method, path, setHost: false } as RequestOptions);
  for (const [name, values] of Map.groupBy(pairs(incoming), ([key]) => key))
    outgoing.setHeader(
      name,
      values.map(([, value]) => value),
    );
  outgoing.setHeader('x-forwarded-for', incoming.socket.remoteAddress ?? 'unknown');
  // A request without a length has no body: do not let Node send an empty one in chunks.
  outgoing.useChunkedEncodingByDefault = false;
  outgoing.once('response', (answer) => {
    if (answer.headers.connection === 'close') response.shouldKeepAlive = false;
    drainBody(incoming);
    response.writeHead(answer.statusCode!, answer.statusMessage, pairs(answer).flat());
    answer.pipe(response);
    answer.once('error', () => response.destroy());
  });
  outgoing.once('continue', () => response.writeContinue());
  outgoing.once('error', (cause: NodeJS.ErrnoException) => {
    const isUnsent = cause.code === 'ECONNREFUSED';
    if ((isUnsent || cause === silent) && others.length > 0) forward(incoming, response, others, agent, upgrade);
    else if (isUnsent || !isCommand(incoming)) refuse(response, new TelemetryError('not_ready', away, { cause }));
    else refuse(response, new TelemetryError('gateway_unreachable', wentAway, { cause }));
  });
  response.once('close', () => {
    // Read a refused body to its end: many clients read the answer only when they have sent all of it.
    incoming.unpipe(outgoing).resume();
    outgoing.destroy();
  });
  if (upgrade) {
    ask(outgoing, response, upgrade);
    return;
  }
  const send = (): unknown => incoming.pipe(outgoing);
  outgoing.once('socket', (socket) => (socket.connecting ? socket.once('connect', send) : send()));
}

/** Asks the role for the upgrade. Once the role has accepted, bytes pass between the two connections both ways. */
function ask(outgoing: ClientRequest, response: ServerResponse, { head, upgradeMs, quietMs }: Upgrade): void {
  outgoing.setHeader('connection', 'Upgrade').setHeader('upgrade', 'websocket');
  outgoing.setTimeout(upgradeMs, () => outgoing.destroy(silent));
  outgoing.once('upgrade', (answer, far, farHead) => {
    const near = response.socket!;
    response.detachSocket(near);
    const lines = Array.from(
      { length: answer.rawHeaders.length / 2 },
      (_, at) => `${answer.rawHeaders[2 * at]}: ${answer.rawHeaders[2 * at + 1]}\r\n`,
    );
    near.write(`HTTP/1.1 101 ${answer.statusMessage}\r\n${lines.join('')}\r\n`);
    near.write(farHead);
    far.write(head);
    near.setTimeout(0);
    far.setTimeout(quietMs, () => far.destroy());
    near.once('close', () => far.destroy());
    far.on('error', () => undefined).once('close', () => near.destroy());
    near.pipe(far).pipe(near);
  });
  outgoing.end();
}

/** The headers as they were sent, without those that concern only one connection. */
function pairs({ rawHeaders }: IncomingMessage): [name: string, value: string][] {
  const all = Array.from({ length: rawHeaders.length / 2 }, (_, at): [string, string] => [rawHeaders[2 * at]!, rawHeaders[2 * at + 1]!]);
  return all.filter(([name]) => !ofThisConnection.has(name.toLowerCase()));
}

function refuse(response: ServerResponse, error: TelemetryError): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  drainBody(response.req);
  const { status, headers, body } = answerOf(error, newRequestId());
  response.writeHead(status, headers).end(body);
}

/** Of all requests that may be sent again this is the one that must not, once a gateway may have read it. */
const isCommand = ({ method, url = '' }: IncomingMessage): boolean => method === 'POST' && roleOf(url) === 'gateway';

const wentAway =
  'The gateway went away before it answered: look for the command.result among the logs of the device before you send the command again.';
const away = 'Send the same request again in a moment: what answers it is not running.';

/** What a client is told while the role that would answer it is away. */
export const awayAnswer = (requestId: string): Answer => answerOf(new TelemetryError('not_ready', away), requestId);
/** What a client is told whose command a gateway may have handed over before it went away. */
export const lostAnswer = (requestId: string): Answer => answerOf(new TelemetryError('gateway_unreachable', wentAway), requestId);

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const answerOf = (error: TelemetryError, requestId: string): Answer => ({
  status: statusOf[error.kind],
  headers: { ...problemHeaders(error), 'content-type': problemContentType, 'x-request-id': requestId },
  body: JSON.stringify(problemOf(error, requestId)),
});

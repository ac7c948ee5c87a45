import { Agent, createServer, request, type IncomingMessage, type RequestOptions, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import {
  answerBrokenRequest,
  drainBody,
  newRequestId,
  problemContentType,
  problemHeaders,
  problemOf,
  statusOf,
  type ParserError,
} from '#edge';
import { TelemetryError } from '#model';
import { roleOf, type FrontRole } from './routes.js';

export interface RouterOptions {
  /** Where the replicas of each role listen, for example `http://127.0.0.1:9001`. They are used in turn. */
  readonly targets: Readonly<Record<FrontRole, readonly string[]>>;
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

export interface Router {
  /** Without a slash at its end. */
  readonly url: string;
  close(): Promise<void>;
}

/** A slow body is for its role to refuse, which takes 30 s and a moment. */
const headersTimeout = 30_000;
const requestTimeout = 35_000;
/** As the roles: longer than the minute for which proxies and clients keep a connection, or they lose a request now and then. */
const keepAliveTimeout = 72_000;
const ofThisConnection = new Set(['connection', 'keep-alive', 'proxy-connection', 'upgrade']);

/**
 * Puts the roles behind one address. Target, headers and bodies pass as they were sent, but for `x-forwarded-for`, which is the client's
 * address whatever the client says, so that a client sees what it would see at the role itself.
 */
export async function startRouter({ targets, host, port }: RouterOptions): Promise<Router> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer({
    headersTimeout,
    requestTimeout,
    keepAliveTimeout,
    connectionsCheckingInterval: 1000,
    requireHostHeader: false,
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
  });
  const turns: Record<FrontRole, number> = { ingress: 0, query: 0, control: 0 };
  const targetsOf = ({ url = '' }: IncomingMessage): readonly URL[] => {
    const role = roleOf(url);
    const replicas = targets[role];
    const first = turns[role]++ % replicas.length;
    return [...replicas.slice(first), ...replicas.slice(0, first)].map((target) => new URL(target));
  };
  const pass = (incoming: IncomingMessage, response: ServerResponse): void => forward(incoming, response, targetsOf(incoming), agent);
  server.on('request', pass).on('checkContinue', pass).on('checkExpectation', pass);
  server.on('upgrade', (incoming, socket: Socket, head) => tunnel(incoming, socket, head, targetsOf(incoming)[0]!));
  server.on('clientError', (error, socket) => answerBrokenRequest(error as ParserError, socket as Socket, () => {}));
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        agent.destroy();
      }),
  };
}

/** Asks the first target. Where nobody listens nothing was sent, so that the next one can be asked. */
function forward(incoming: IncomingMessage, response: ServerResponse, [target, ...others]: readonly URL[], agent: Agent): void {
  const { method, url: path } = incoming;
  const { hostname, port } = target!;
  const outgoing = request({ agent, hostname, port, method, path, setHost: false } as RequestOptions);
  for (const [name, values] of Map.groupBy(pairs(incoming), ([key]) => key))
    outgoing.setHeader(
      name,
      values.map(([, value]) => value),
    );
  outgoing.setHeader('x-forwarded-for', incoming.socket.remoteAddress ?? 'unknown');
  // Without a length there is no body, and none is made up.
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
    if (cause.code === 'ECONNREFUSED' && others.length > 0) forward(incoming, response, others, agent);
    else refuse(response, cause);
  });
  response.once('close', () => {
    // A body that was refused is read to its end, so that the client gets to see the answer.
    incoming.unpipe(outgoing).resume();
    outgoing.destroy();
  });
  const send = (): unknown => incoming.pipe(outgoing);
  outgoing.once('socket', (socket) => (socket.connecting ? socket.once('connect', send) : send()));
}

/** The headers that are not about one connection, as they were sent. */
function pairs({ rawHeaders }: IncomingMessage): [name: string, value: string][] {
  const all = Array.from({ length: rawHeaders.length / 2 }, (_, at): [string, string] => [rawHeaders[2 * at]!, rawHeaders[2 * at + 1]!]);
  return all.filter(([name]) => !ofThisConnection.has(name.toLowerCase()));
}

function refuse(response: ServerResponse, cause: Error): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  drainBody(response.req);
  const { status, headers, body } = awayAnswer(newRequestId(), cause);
  response.writeHead(status, headers).end(body);
}

/** What a client is told while the role that would answer it is away. */
export function awayAnswer(
  requestId: string,
  cause?: Error,
): { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const error = new TelemetryError('not_ready', 'Send the same request again in a moment: what answers it is not running.', { cause });
  return {
    status: statusOf[error.kind],
    headers: { ...problemHeaders(error), 'content-type': problemContentType, 'x-request-id': requestId },
    body: JSON.stringify(problemOf(error, requestId)),
  };
}

/** Joins the two connections; what the role answers to the upgrade is its own. */
function tunnel({ method, url, httpVersion, rawHeaders }: IncomingMessage, socket: Socket, head: Buffer, target: URL): void {
  const far = connect(Number(target.port), target.hostname);
  const lines = Array.from({ length: rawHeaders.length / 2 }, (_, at) =>
    rawHeaders[2 * at]!.toLowerCase() === 'x-forwarded-for' ? '' : `${rawHeaders[2 * at]}: ${rawHeaders[2 * at + 1]}\r\n`,
  );
  far.write(`${method} ${url} HTTP/${httpVersion}\r\n${lines.join('')}x-forwarded-for: ${socket.remoteAddress ?? 'unknown'}\r\n\r\n`);
  far.write(head);
  socket.pipe(far).pipe(socket);
  for (const end of [socket, far]) end.on('error', () => undefined).once('close', () => (socket.destroy(), far.destroy()));
}

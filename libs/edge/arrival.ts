import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { TelemetryError } from '#model';
import type { Admission, Credential } from './admission.js';
import type { Observer } from './answered.js';
import { noteAnswer, noteRequest } from './broken-request.js';
import type { Held, InFlight } from './in-flight.js';
import { drainBody, type DrainLimits } from './drain.js';
import { statusOf } from './problem.js';
import { checkBodyHeaders, formType, hasBody, jsonType } from './read-body.js';
import type { Rates } from './rates.js';
import type { PublicUrl } from './people/public-url.js';
import { checkSameSite } from './people/same-site.js';
import type { Routes } from './routes.js';
import type { Traffic } from './traffic.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request holds in memory, until its handler has settled and its answer is out. A client that disconnects frees nothing before its handler is done. */
    held: Held | undefined;
    /** The handler has settled. */
    isSettled: boolean;
    /** Why the answer is an error. */
    failure: TelemetryError | undefined;
  }
}

/** Keys travel in a header that a page must set itself, never by themselves like cookies, so any page may call with the key it has. */
const corsHeaders = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'x-request-id, retry-after' };

const preflightHeaders = (methods: readonly string[]): Record<string, string> => ({
  'access-control-allow-origin': '*',
  'access-control-allow-methods': methods.join(', '),
  'access-control-allow-headers': 'Content-Type, Content-Encoding, x-api-key, Last-Event-ID',
  'access-control-max-age': '86400',
});

/** Reading costs no rate: what is open at once is bounded. */
const changes = ({ method }: FastifyRequest): boolean => method !== 'GET' && method !== 'HEAD';

/** A header that was sent twice is joined by Node with a comma, so that it is no key. */
const credentialOf = ({ headers }: FastifyRequest): Credential => ({
  apiKey: headers['x-api-key'] as string | undefined,
  place: 'the x-api-key header',
});

/** The client sends its body once it is asked to. */
const waitsForContinue = ({ httpVersion, headers: { expect = '' } }: IncomingMessage): boolean =>
  httpVersion === '1.1' && /\b100-continue\b/i.test(expect);

function hostHeaders({ rawHeaders }: IncomingMessage): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]!.length === 4 && rawHeaders[at]!.toLowerCase() === 'host') count++;
  return count;
}

/** 499 when nobody was left to be told a status. */
function statusOfAnswer({ sent, statusCode, request: { failure } }: FastifyReply): number {
  if (sent) return statusCode;
  return failure ? statusOf[failure.kind] : 499;
}

/** What happens to every request before its body is read: in this order 404 or 405, 503 at the start, 403 for a page of another origin, 401, 402, 403, 429 (rate), 415, 413, 429 or 503. */
export class Arrival {
  constructor(
    private readonly admission: Admission,
    private readonly rates: Rates,
    private readonly inFlight: InFlight,
    private readonly traffic: Traffic,
    private readonly routes: Routes,
    private readonly observer: Observer,
    private readonly drain: DrainLimits,
    private readonly publicUrl: PublicUrl,
  ) {}

  take(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    this.watch(request, reply);
    try {
      const hosts = hostHeaders(request.raw);
      if (hosts > 1 || (hosts === 0 && request.raw.httpVersion === '1.1')) {
        throw new TelemetryError('invalid_request', 'Send one Host header.');
      }
      if (request.is404) return this.#strayed(request, reply);
      this.#admit(request, reply);
    } catch (error) {
      done(error as Error);
      return;
    }
    done();
  }

  /** Names the request to the client and, once the answer is out, tells the observer. */
  watch(request: FastifyRequest, reply: FastifyReply): void {
    const end = this.traffic.begin();
    noteRequest(reply);
    reply.header('x-request-id', request.id);
    if (request.headers.origin !== undefined && this.#hasCors(request)) reply.headers(corsHeaders);
    // A closed socket knows no address any more.
    const address = request.ip;
    reply.raw.once('close', () => {
      end();
      noteAnswer(reply);
      if (request.isSettled) request.held?.release();
      this.observer({
        requestId: request.id,
        method: request.method,
        route: request.is404 ? '' : (request.routeOptions.url ?? ''),
        status: statusOfAnswer(reply),
        durationMs: reply.elapsedTime,
        // A stream that has begun is told of at once, and has no end that a client could miss.
        complete: reply.raw.writableFinished || (reply.sent && request.routeOptions.config.access?.stream === true),
        address,
        orgId: request.caller?.orgId,
        keyId: request.caller?.keyId,
        failure: request.failure,
      });
    });
  }

  /** The handler has settled; what it held is free once the answer is out too. */
  leave(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    // Whoever waits to be asked for its body sends it now or never: nobody can tell where its next request begins.
    const isUnasked = !request.raw.complete && waitsForContinue(request.raw);
    if (this.traffic.closing || isUnasked) reply.header('connection', 'close');
    drainBody(request.raw, this.drain);
    request.isSettled = true;
    if (reply.raw.closed) request.held?.release();
    done();
  }

  /** Whether pages of any origin may read the answer. Where no route fits: unless the path is for this server's own pages only. */
  #hasCors(request: FastifyRequest): boolean {
    if (!request.is404) return request.routeOptions.config.access?.cors !== false;
    return this.routes.methods(request.url).length === 0 || this.routes.methods(request.url, 'cors').length > 0;
  }

  #strayed(request: FastifyRequest, reply: FastifyReply): void {
    const methods = this.routes.methods(request.url);
    if (methods.length === 0) throw new TelemetryError('unknown_route', 'Check the path: no route of this server has it.');
    if (request.method === 'OPTIONS') {
      const open = this.routes.methods(request.url, 'cors');
      void reply
        .status(204)
        .headers(open.length > 0 ? preflightHeaders(open) : { allow: methods.join(', ') })
        .send();
      return;
    }
    // The path and method are those of a WebSocket, and the request does not ask for one.
    if (methods.includes(request.method)) {
      reply.headers({ connection: 'upgrade', upgrade: 'websocket' });
      throw new TelemetryError('upgrade_required', 'Ask for a WebSocket on this path: GET with Upgrade: websocket.');
    }
    reply.header('allow', methods.join(', '));
    throw new TelemetryError('method_not_allowed', `Use ${methods.join(' or ')} on this path.`);
  }

  #admit(request: FastifyRequest, reply: FastifyReply): void {
    const { access = {} } = request.routeOptions.config;
    // Routes for our own pages wait until all is read; HTML pages answer that themselves.
    if (access.cors === false && !access.page) this.admission.readiness.check();
    if (access.cors === false) checkSameSite(request, this.publicUrl);
    if (access.person) {
      reply.header('cache-control', 'no-store');
      request.person = this.admission.admitPerson(request);
    } else if (access.key !== false) {
      reply.header('cache-control', 'no-store');
      request.caller = access.may
        ? this.admission.admitTo(access.may, request, credentialOf(request), access)
        : this.admission.admit(credentialOf(request), request.ip, access);
      if (changes(request)) this.rates.admit(request.caller);
    }
    const person = request.person ?? request.caller?.person;
    if (person) this.admission.visitors!.note(person, request, reply);
    const { headers } = request;
    if (access.body !== false && hasBody(headers)) {
      checkBodyHeaders(headers, access.page ? formType : jsonType);
      request.held = this.inFlight.hold(request.caller?.orgId ?? '');
      if (waitsForContinue(request.raw)) reply.raw.writeContinue();
    } else if (request.caller && !access.stream) {
      request.held = this.inFlight.hold(request.caller.orgId);
      request.held.addRead();
    }
  }
}

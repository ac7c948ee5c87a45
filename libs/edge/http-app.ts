import type { DynamicModule, LoggerService, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyRequest, FastifyServerOptions } from 'fastify';
import type { IncomingMessage, ServerOptions } from 'node:http';
import type { NameLimits } from '#model';
import { Accept } from './accept.js';
import { Admission } from './admission.js';
import type { Observer } from './answered.js';
import { Answers } from './answers.js';
import { Arrival } from './arrival.js';
import { answerBrokenRequest } from './broken-request.js';
import { decodableUrl } from './decodable-url.js';
import { DirectRequests } from './direct/direct-requests.js';
import { drainBody, drainLimits, type DrainLimits } from './drain.js';
import { FailedKeys } from './failed-keys.js';
import { IN_FLIGHT_LIMITS, InFlight, inFlightLimits, type InFlightLimits } from './in-flight.js';
import { KeyUses } from './key-uses.js';
import { Keyring } from './keyring.js';
import { ProblemFilter, sendProblem } from './problem.js';
import { LiveSockets } from './live/live-sockets.js';
import { isWebSocket, UpgradeAdapter, upgradeConstraint } from './live/upgrade-adapter.js';
import { Metrics } from './metrics.js';
import { NAME_LIMITS, NameLimiter } from './name-limiter.js';
import { Organizations } from './organizations.js';
import { PublicUrl } from './people/public-url.js';
import { formType, jsonType, readBody } from './read-body.js';
import { Rates } from './rates.js';
import { Readiness } from './readiness.js';
import { newRequestId } from './request-id.js';
import { Routes } from './routes.js';
import { Slices } from './slices.js';
import { StalledReaders } from './stalled-readers.js';
import { Traffic } from './traffic.js';

export interface HttpAppOptions {
  readonly logger?: LoggerService | false;
  /** Told of each answer once it is out. */
  readonly observer?: Observer;
  /** A request that takes longer to arrive is cut off. */
  readonly requestTimeoutMs?: number;
  /** A client that takes nothing of its answer for so long is cut off. */
  readonly writeStallMs?: number;
  readonly inFlight?: InFlightLimits;
  /** Names that an organization without limits of its own may have active; any number when left out. */
  readonly names?: NameLimits;
  readonly drain?: DrainLimits;
  /** Addresses or networks of proxies that say who the client is. */
  readonly trustedProxies?: readonly string[];
  /** Where people reach the application, as `PublicUrl` has it. */
  readonly publicUrl?: string;
}

/** A role as an HTTP application that does not listen yet: keys, bodies, limits and errors are the same in all of them. */
export async function createHttpApp(
  role: Type | DynamicModule,
  {
    logger = false,
    observer = () => {},
    requestTimeoutMs = 30_000,
    writeStallMs = 30_000,
    inFlight = inFlightLimits,
    names = { sources: Infinity, series: Infinity, tag_sets: Infinity },
    drain = drainLimits,
    trustedProxies = [],
    publicUrl = '',
  }: HttpAppOptions = {},
): Promise<NestFastifyApplication> {
  const options: FastifyServerOptions & { http: ServerOptions } = {
    genReqId: newRequestId,
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    // Longer than any URL: a parameter that is too long is for its route to refuse.
    routerOptions: { maxParamLength: 16 * 1024, constraints: upgradeConstraint },
    rewriteUrl: ({ url = '/' }) => decodableUrl(url),
    return503OnClosing: false,
    requestTimeout: requestTimeoutMs,
    http: {
      headersTimeout: requestTimeoutMs,
      connectionsCheckingInterval: Math.min(1000, requestTimeoutMs / 4),
      // Node would answer without a problem; we refuse it ourselves.
      requireHostHeader: false,
      shouldUpgradeCallback: isWebSocket,
    },
    frameworkErrors: (error, request, reply) => {
      arrival.watch(request, reply);
      drainBody(request.raw, drain);
      sendProblem(reply, error);
    },
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, observer, drain),
  };
  const adapter = new FastifyAdapter(options);
  const instance = adapter.getInstance();
  // Node would ask for a body before anybody looked at its request.
  for (const event of ['checkContinue', 'checkExpectation'])
    instance.server.on(event, (request, response) => instance.server.emit('request', request, response));
  const routes = new Routes();
  routes.watch(instance);

  const root: DynamicModule = { module: class Root {}, imports: [edgeModule(inFlight, names, publicUrl), role] };
  const app = await NestFactory.create<NestFastifyApplication>(root, adapter, { bodyParser: false, logger, abortOnError: false });
  app.useGlobalFilters(new ProblemFilter());
  app.useWebSocketAdapter(new UpgradeAdapter(instance, app.get(Traffic), app.get(LiveSockets)));

  const readers = new StalledReaders(writeStallMs);
  instance.server.on('connection', (connection) => readers.watch(connection));
  const [admission, rates, flight, traffic] = [app.get(Admission), app.get(Rates), app.get(InFlight), app.get(Traffic)];
  instance.decorate('directRequests', new DirectRequests(instance.server, admission, rates, flight, traffic, observer));
  const arrival = new Arrival(admission, rates, flight, traffic, routes, observer, drain, app.get(PublicUrl));
  for (const name of ['caller', 'person', 'held', 'failure']) instance.decorateRequest(name, undefined);
  instance.decorateRequest('isSettled', false);
  instance.addHook('onRequest', (request, reply, done) => arrival.take(request, reply, done));
  instance.addHook('onClose', (_, done) => {
    readers.stop();
    done();
  });
  instance.addHook('onSend', (request, reply, _payload, done) => arrival.leave(request, reply, done));
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser([jsonType, formType], (request: FastifyRequest, payload: IncomingMessage, done) =>
    readBody(payload, (bytes) => request.held?.addBody(bytes), done),
  );
  return app;
}

/** What every HTTP face shares. Needs RECORD_LOG, VIEWS and CLOCK from a global module. */
function edgeModule(inFlight: InFlightLimits, names: NameLimits, publicUrl: string): DynamicModule {
  const doors = [Accept, Admission, Keyring, KeyUses, LiveSockets, Organizations, Rates];
  const shared = [...doors, Answers, InFlight, Metrics, Readiness, Slices, Traffic];
  return {
    module: class Edge {},
    global: true,
    providers: [
      { provide: IN_FLIGHT_LIMITS, useValue: inFlight },
      { provide: NAME_LIMITS, useValue: names },
      { provide: PublicUrl, useValue: new PublicUrl(publicUrl) },
      FailedKeys,
      NameLimiter,
      ...shared,
    ],
    exports: [...shared, PublicUrl],
  };
}

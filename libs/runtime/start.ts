import type { DynamicModule, Provider, Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  Accounts,
  type Answered,
  CLOCK,
  type Clock,
  createHttpApp,
  type HttpAppOptions,
  KeyCommands,
  Keyring,
  Metrics,
  Organizations,
  Outbound,
  People,
  PublicUrl,
  Readiness,
  Traffic,
} from '#edge';
import { CHECKPOINT_MS, VIEWS, type Views } from '#log';
import { causes, gauge, OperatorError, operatorOrgId, type NameLimits } from '#model';
import { AdminServer } from './admin-server.js';
import { BackupRoute } from './backup-route.js';
import type { Backend, OpenBackend } from './backend.js';
import { DependencyWatch } from './dependency-watch.js';
import { again, firstKey } from './first-key.js';
import { firstOwner } from './first-owner.js';
import { HealthController } from './health.controller.js';
import { nestLogger, type Logger } from './logger.js';
import { processMetrics } from './process-metrics.js';
import { RequestLog } from './request-log.js';
import { RequestMetrics } from './request-metrics.js';
import type { Config } from './settings.js';
import { UnreadableWatch, warningsOf } from './unreadable-keys.js';

/** What a start shows to people. */
interface Shown {
  /**
   * Shows the secret of the first key, before the key is made.
   *
   * @param url of the API, which listens then.
   * @param ownerLink see `firstOwner`.
   */
  readonly showFirstKey?: ((url: string, secret: string, ownerLink: string | undefined) => Promise<void>) | undefined;
  /** Shows the link that makes the first owner where there is a key and no owner. Without it no such link is made. */
  readonly showOwnerLink?: ((link: string) => Promise<void>) | undefined;
}

export interface StartOptions extends Pick<HttpAppOptions, 'requestTimeoutMs' | 'inFlight'>, Shown {
  readonly clock?: Clock;
  readonly checkpointMs?: number;
}

/** A role that listens. */
export interface Running {
  /** Address of the API, without a slash at its end. */
  readonly url: string;
  /** Address of /metrics. */
  readonly adminUrl: string;
  /** The secret of the first key, when this start made one. */
  readonly firstKey: string | undefined;
  /** Resolves when the role can answer. Rejects when it never will, with an OperatorError where the operator can mend the cause. */
  readonly opened: Promise<void>;
  /** Stops without losing a request; afterwards everything is durable and closed. */
  stop(): Promise<void>;
  /** Ends where it stands, as a crash would. */
  crash(): Promise<void>;
}

/** Starts a role on a backend. Rejects with an OperatorError where the operator can mend the cause. Nothing stays open then. */
export async function start(
  role: Type,
  backend: Backend,
  config: Config,
  logger: Logger,
  { clock = Date.now, checkpointMs = backend.checkpointMs(config), showFirstKey, showOwnerLink, ...limits }: StartOptions = {},
): Promise<Running> {
  const report = (message: string): void => logger.warn(message);
  const open = await backend.open(config, clock, report);
  const requests = { metrics: new RequestMetrics(), log: new RequestLog(logger) };
  const observer = (answered: Answered): void => {
    requests.metrics.add(answered);
    requests.log.add(answered);
  };
  let app: NestFastifyApplication | undefined;
  try {
    app = await createHttpApp(root(role, open, clock, checkpointMs, outboundOf(config, clock)), {
      logger: nestLogger(logger),
      observer,
      trustedProxies: config.trustedProxies,
      publicUrl: config.publicUrl,
      names: namesOf(config, backend.names),
      ...limits,
    });
    return await listen(app, open, backend, config, logger, requests, { showFirstKey, showOwnerLink });
  } catch (error) {
    await app?.close();
    await open.close();
    throw error;
  }
}

function namesOf({ maxSources, maxSeries, maxTagSets }: Config, auto: NameLimits): NameLimits {
  const of = (given: number | 'auto', usual: number): number => (given === 'auto' ? usual : given);
  return { sources: of(maxSources, auto.sources), series: of(maxSeries, auto.series), tag_sets: of(maxTagSets, auto.tag_sets) };
}

const outboundOf = ({ alertNetworks: networks, smtpUrl: server, mailFrom: from, ...config }: Config, clock: Clock): Outbound =>
  new Outbound({
    networks,
    server,
    from,
    provider: { issuer: config.oidcIssuer, clientId: config.oidcClientId, clientSecret: config.oidcClientSecret },
    clock,
  });

function root(role: Type, open: OpenBackend, clock: Clock, checkpointMs: number, outbound: Outbound): DynamicModule {
  const providers: Provider[] = [
    { provide: CLOCK, useValue: clock },
    { provide: CHECKPOINT_MS, useValue: checkpointMs },
    { provide: Outbound, useValue: outbound },
    ...open.providers,
  ];
  const ports: DynamicModule = {
    module: class Ports {},
    global: true,
    providers,
    exports: providers.map((provider) => (typeof provider === 'function' ? provider : provider.provide)),
  };
  return { module: class Role {}, imports: [ports, role], controllers: [HealthController] };
}

async function listen(
  app: NestFastifyApplication,
  open: OpenBackend,
  backend: Backend,
  config: Config,
  logger: Logger,
  requests: { readonly metrics: RequestMetrics; readonly log: RequestLog },
  { showFirstKey, showOwnerLink }: Shown,
): Promise<Running> {
  const keyring = app.get(Keyring);
  const organizations = app.get(Organizations);
  const views = app.get<Views>(VIEWS);
  const traffic = app.get(Traffic);
  const readiness = app.get(Readiness);
  for (const check of open.checks) readiness.add(check);
  readiness.add(() => (traffic.closing ? 'The server is stopping.' : undefined));
  readiness.add(() => (keyring.isStale() || organizations.isStale() ? 'The log has been silent for minutes.' : undefined));
  readiness.addWarnings(() => warningsOf(views));
  const spare = open.dependencies.filter(({ isSpare }) => isSpare);
  readiness.addWarnings(() => spare.flatMap(({ health }) => health() ?? []));
  readiness.need(open.opened);
  readiness.need(keyring.ready);
  readiness.need(organizations.ready);
  await app.init();
  const opened = open.opened.then(() => readiness.opened());
  // Callers that await `opened` get the rejection; nobody else should crash on it.
  opened.catch(() => undefined);
  if (!backend.listensAtOnce) await opened;

  const unreadable = new UnreadableWatch(views, (message) => logger.warn(message));
  const own = processMetrics();
  const watch = new DependencyWatch(open.dependencies, logger);
  const ready = gauge('headwater_ready', 'Whether /health/ready says yes: 1 or 0.', () => (readiness.reasons().length === 0 ? 1 : 0));
  const { all } = app.get(Metrics);
  all.push(...requests.metrics.metrics, ...open.metrics, ...own.metrics, watch.metric, ready);
  const backup = open.backup && config.backupToken ? new BackupRoute(config.backupToken, open.backup, logger) : undefined;
  const admin = new AdminServer(all, backup);
  const end = (): void => {
    admin.close();
    own.stop();
    unreadable.stop();
    watch.stop();
    requests.log.stop();
  };
  try {
    const adminUrl = await bound('HEADWATER_ADMIN', config.adminPort, admin.listen(config.adminPort, config.adminHost));
    await bound('HEADWATER', config.port, app.listen(config.port, config.host));
    const url = reachable(await app.getUrl());
    app.get(PublicUrl).listensAt(url);
    // Make the key only now: a start that fails because a port is taken would leave a key that nobody has seen.
    const ownerLink = async (): Promise<string | undefined> => {
      if (!showOwnerLink) return undefined;
      try {
        return await again(() => firstOwner(app.get(People, { strict: false }), app.get(Accounts, { strict: false })));
      } catch (error) {
        logger.warn(`the link that makes the first owner could not be made: ${causes(error)}`);
        return undefined;
      }
    };
    const show = async (made: string): Promise<void> => showFirstKey?.(url, made, await ownerLink());
    const secret = backend.makesFirstKey
      ? await firstKey(organizations, keyring, async (key) => app.get(KeyCommands, { strict: false }).createFirst(key), show)
      : undefined;
    const link = backend.makesFirstKey && secret === undefined && organizations.get(operatorOrgId) ? await ownerLink() : undefined;
    if (link !== undefined) await showOwnerLink?.(link);
    return {
      url,
      adminUrl: reachable(adminUrl),
      firstKey: secret,
      opened,
      stop: async () => {
        // What is closed in order is no outage.
        watch.stop();
        await traffic.drain(app.getHttpServer());
        await app.close();
        await open.close();
        end();
      },
      crash: async () => {
        end();
        await open.crash();
        app.getHttpServer().closeAllConnections();
        await app.close().catch(() => {});
      },
    };
  } catch (error) {
    end();
    throw error;
  }
}

/** What the operator can do, by the code of the error. @param of how the names of the two variables, for host and port, begin. */
const listenErrors: Readonly<Record<string, (variables: string, port: number) => string>> = {
  EADDRINUSE: (of, port) => `Port ${port} is taken by another program. Set ${of}_PORT to another one, or end that program.`,
  EACCES: (of, port) => `Port ${port} needs more rights than this user has. Set ${of}_PORT to another one.`,
  EADDRNOTAVAIL: (of) => `${of}_HOST is not an address of this machine.`,
  ENOTFOUND: (of) => `${of}_HOST is not an address, nor a name that this machine knows.`,
};

async function bound<T>(variables: string, port: number, listening: Promise<T>): Promise<T> {
  try {
    return await listening;
  } catch (cause) {
    const sentence = listenErrors[String((cause as NodeJS.ErrnoException).code)];
    throw sentence ? new OperatorError(sentence(variables, port), { cause }) : cause;
  }
}

/** An address that works in a command on this machine. */
const reachable = (url: string): string => url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Authority } from '../certificates.js';
import { saslSsl } from '../secured-kafka.js';
import { pgTlsFront, portOf, tlsFront } from '../tls-front.js';
import { startOwnServers } from './own-servers.js';

export type Settings = Readonly<Record<string, string>>;

/** Seconds after which a broker wants the password again. */
export const loginS = 12;

const writer = { username: 'writer', password: 'a;http=secret' };
const pgPassword = 'a/pg:secret?';

/**
 * Servers that let nobody in without TLS and a password, brokers also not without a client certificate. QuestDB without a licence and Apicurio
 * speak no TLS, so that something stands before them.
 */
export async function startSecuredServers(folder: string) {
  const authority = new Authority();
  const client = authority.certify({ names: ['headwater'] });
  const { security, access } = saslSsl(authority, { 'ssl.client.auth': 'required', 'connections.max.reauth.ms': String(1000 * loginS) });
  const own = await startOwnServers(folder, 1, {
    security,
    questDb: {
      QDB_HTTP_USER: writer.username,
      QDB_HTTP_PASSWORD: writer.password,
      QDB_HTTP_HEALTH_CHECK_AUTHENTICATION_REQUIRED: 'false',
      QDB_PG_PASSWORD: pgPassword,
    },
  });
  const [registry, questDb, pg] = [own.registry.url, own.questDb.httpUrl, own.questDb.pgUrl].map((url) => new URL(url)) as [URL, URL, URL];
  const certified = authority.certify();
  const fronts = [
    await tlsFront(certified, Number(registry.port)),
    await tlsFront(certified, Number(questDb.port)),
    await pgTlsFront(certified, Number(pg.port)),
  ] as const;
  const [registryPort, questDbPort, pgPort] = fronts.map(portOf);
  const pgAs = (password: string): string => `postgres://admin:${encodeURIComponent(password)}@127.0.0.1:${pgPort}/qdb?sslmode=verify-full`;
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), `${text}\n`, { mode: 0o600 });
    return join(folder, name);
  };
  const ca = file('ca.crt', authority.cert);
  const settings: Settings = {
    HEADWATER_KAFKA_BROKERS: own.kafka.brokers.join(),
    HEADWATER_KAFKA_TLS: 'on',
    HEADWATER_KAFKA_CA_FILE: ca,
    HEADWATER_KAFKA_CERT_FILE: file('tls.crt', client.cert),
    HEADWATER_KAFKA_KEY_FILE: file('tls.key', client.key),
    HEADWATER_KAFKA_SASL: access.sasl.mechanism,
    HEADWATER_KAFKA_USERNAME: access.sasl.username,
    HEADWATER_KAFKA_PASSWORD_FILE: file('kafka-password', access.sasl.password),
    HEADWATER_REGISTRY_URL: `https://localhost:${registryPort}${registry.pathname}`,
    HEADWATER_REGISTRY_CA_FILE: ca,
    HEADWATER_QUESTDB_URL: `https://127.0.0.1:${questDbPort}`,
    HEADWATER_QUESTDB_USERNAME: writer.username,
    HEADWATER_QUESTDB_PASSWORD_FILE: file('questdb-password', writer.password),
    HEADWATER_QUESTDB_PG_FILE: file('questdb-pg', pgAs(pgPassword)),
    HEADWATER_QUESTDB_CA_FILE: ca,
  };
  const secrets = [access.sasl.password, writer.password, pgPassword, encodeURIComponent(pgPassword), client.key.split('\n')[1]!];
  return {
    /** How roles get in. */
    settings,
    authority,
    /** The address for reading QuestDB, with a password. */
    pgAs,
    /** Those of `settings` that a text shows. */
    secretsIn: (text: string): readonly string[] => secrets.filter((secret) => text.includes(secret)),
    stop: async (): Promise<void> => {
      for (const front of fronts) front.close();
      await own.stop();
    },
  };
}

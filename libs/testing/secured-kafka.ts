import { Authority } from './certificates.js';
import type { KafkaSecurity } from '../../infra/servers/index.js';

/** Without quotes, commas and brackets, which Kafka's own tool takes for its syntax. */
const user = { username: 'headwater', password: 'A-secret/of:a$test' };

/** Brokers with TLS that want a name and a password, and how a client gets in. `settings` are those of their listener. */
export function saslSsl(authority = new Authority(), settings?: KafkaSecurity['settings']) {
  const security: KafkaSecurity = { ...authority.certify(), ca: authority.cert, user, ...(settings && { settings }) };
  return { security, access: { tls: { ca: authority.cert }, sasl: { mechanism: 'SCRAM-SHA-512' as const, ...user } } };
}

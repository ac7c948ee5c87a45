import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What brokers show and want on a listener with SASL_SSL. */
export interface KafkaSecurity {
  /** The certificate of all brokers and its key, and the authority whose client certificates are trusted; PEM. */
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  /** Who may log in, with each of the mechanisms. */
  readonly user: { readonly username: string; readonly password: string };
  /** Further settings of the listener, such as `ssl.client.auth`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Settings of a broker whose listener CLIENT has that security. Writes the files that they name. */
export function secured(folder: string, { cert, key, ca, user, settings }: KafkaSecurity): Record<string, string> {
  const [ours, trusted] = [join(folder, 'broker.pem'), join(folder, 'ca.pem')];
  writeFileSync(ours, key + cert, { mode: 0o600 });
  writeFileSync(trusted, ca);
  const login = (module: string, users = ''): string => `org.apache.kafka.common.security.${module} required${users};`;
  const scram = login('scram.ScramLoginModule');
  const listener: Record<string, string> = {
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': ours,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': trusted,
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    'plain.sasl.jaas.config': login('plain.PlainLoginModule', ` user_${user.username}="${user.password}"`),
    'scram-sha-256.sasl.jaas.config': scram,
    'scram-sha-512.sasl.jaas.config': scram,
    ...settings,
  };
  return Object.fromEntries(Object.entries(listener).map(([name, value]) => [`listener.name.client.${name}`, value]));
}

/** What makes the user when the folder of a broker is formatted. */
export const scramUser = ({ user: { username, password } }: KafkaSecurity): readonly string[] =>
  ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => ['--add-scram', `${mechanism}=[name=${username},password=${password}]`]);

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { OperatorError } from '#model';
import { settings, type Config, type Setting } from './settings.js';

type Env = Readonly<Record<string, string | undefined>>;

/** Settings that are made together or not at all. */
const together: readonly (readonly (keyof Config)[])[] = [
  ['kafkaSasl', 'kafkaUsername', 'kafkaPassword'],
  ['kafkaCert', 'kafkaKey'],
  ['smtpUrl', 'mailFrom'],
  ['oidcIssuer', 'oidcClientId', 'oidcClientSecret'],
  ['registryUsername', 'registryPassword'],
  ['questDbUsername', 'questDbPassword'],
];
/** In each group at most one setting may be set. */
const apart: readonly (readonly (keyof Config)[])[] = [
  ['registryUsername', 'registryToken'],
  ['questDbUsername', 'questDbToken'],
];
/** Settings that have no effect without TLS. */
const withTls: readonly (readonly [name: keyof Config, isTls: (config: Config) => boolean, how: string])[] = [
  ['kafkaCa', ({ kafkaTls }) => kafkaTls === 'on', 'HEADWATER_KAFKA_TLS=on'],
  ['kafkaCert', ({ kafkaTls }) => kafkaTls === 'on', 'HEADWATER_KAFKA_TLS=on'],
  ['registryCa', ({ registryUrl }) => registryUrl.startsWith('https:'), 'an https:// URL in HEADWATER_REGISTRY_URL'],
  [
    'questDbCa',
    ({ questDbUrl, questDbPg }) => questDbUrl.startsWith('https:') || /[?&]sslmode=(?!disable)/.test(questDbPg),
    'an https:// URL in HEADWATER_QUESTDB_URL, or sslmode=verify-full in HEADWATER_QUESTDB_PG',
  ],
];

/** What is finer is not kept for longer than what is coarser. */
const finestFirst = ['keepPointsMs', 'keep1mMs', 'keep1hMs', 'keep1dMs'] as const;

/** Reads every variable once, and the files that some of them name. @throws OperatorError that names all that are wrong. */
export function readConfig(env: Env): Config {
  const mistakes: string[] = [];
  const read = ([name, one]: [string, Setting<unknown>]): [string, unknown] => {
    const given = textOf(one, env, (mistake) => mistakes.push(mistake));
    const value = one.parse(given || one.default);
    if (value === undefined) mistakes.push(`${one.variable} must be ${one.expected}${shown(one, given)}.`);
    return [name, value];
  };
  const config = Object.fromEntries(Object.entries<Setting<unknown>>(settings).map(read)) as Config;
  if (mistakes.length === 0) mistakes.push(...contradictions(config));
  if (mistakes.length > 0) throw new OperatorError(mistakes.join('\n'));
  return config;
}

/** What is given for a setting. A line break that ends a file is none of it. */
function textOf({ variable, mayBeFile }: Setting<unknown>, env: Env, mistaken: (sentence: string) => void): string | undefined {
  const file = mayBeFile ? env[`${variable}_FILE`] : undefined;
  if (!file) return env[variable];
  if (env[variable]) mistaken(`Set ${variable} or ${variable}_FILE, not both.`);
  try {
    const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    if (text === '') mistaken(`${variable}_FILE names a file that is empty.`);
    return text;
  } catch (cause) {
    // Its name is not shown: somebody may have taken it for the place of the secret itself.
    mistaken(`${variable}_FILE names a file that cannot be read (${(cause as NodeJS.ErrnoException).code}).`);
    return undefined;
  }
}

/** What is wrong with settings each of which is fine. */
function contradictions(config: Config): readonly string[] {
  const { kafkaCert, kafkaKey } = config;
  const named = (some: readonly (keyof Config)[]): string => some.map((name) => settings[name].variable).join(' and ');
  const made = (some: readonly (keyof Config)[]): (keyof Config)[] => some.filter((name) => config[name] !== '');
  const partly = together.filter((group) => made(group).length > 0 && made(group).length < group.length);
  const isOurs = (): boolean => new X509Certificate(kafkaCert).checkPrivateKey(createPrivateKey(kafkaKey));
  return [
    // The provider sends people back there, and to no address that a request has named.
    ...(config.oidcIssuer && !config.publicUrl ? ['HEADWATER_OIDC_ISSUER cannot do without HEADWATER_PUBLIC_URL.'] : []),
    ...(config.port !== 0 && config.port === config.adminPort ? ['HEADWATER_ADMIN_PORT must not be HEADWATER_PORT.'] : []),
    ...finestFirst
      .slice(1)
      .filter((name, at) => config[name] < config[finestFirst[at]!])
      .map((name) => shorter(name, finestFirst[finestFirst.indexOf(name) - 1]!)),
    ...partly.map((group) => `${named(made(group))} cannot do without ${named(group.filter((name) => config[name] === ''))}.`),
    ...apart
      .filter((group) => made(group).length > 1)
      .map((group) => `Set ${group.map((name) => settings[name].variable).join(' or ')}, not both.`),
    ...withTls
      .filter(([name, isTls]) => config[name] !== '' && !isTls(config))
      .map(([name, , how]) => `${settings[name].variable} needs ${how}.`),
    ...(kafkaCert && kafkaKey && !isOurs() ? ['HEADWATER_KAFKA_KEY is not the key of HEADWATER_KAFKA_CERT.'] : []),
  ];
}

const shorter = (name: keyof Config, finer: keyof Config): string =>
  `${settings[name].variable} must be at least as long as ${settings[finer].variable}, which is all unless you set it.`;

/** What was given, unless it may hold a password. */
const shown = ({ mayBeFile }: Setting<unknown>, given: string | undefined): string =>
  mayBeFile || (given && /\/\/|@/.test(given)) ? '' : `, not ${JSON.stringify(given)}`;

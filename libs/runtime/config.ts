import { resolve } from 'node:path';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface Config {
  readonly dataDir: string;
  /** Address to listen on; 0.0.0.0 is all of this machine's. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** For /metrics, on loopback only; 0 takes a free one. */
  readonly adminPort: number;
  readonly logLevel: LogLevel;
}

/** Something that the operator must mend before the server can start, in sentences for a person. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

type Env = Readonly<Record<string, string | undefined>>;

/** Reads every variable once. @throws StartError that names all that are wrong. */
export function readConfig(env: Env): Config {
  const mistakes: string[] = [];
  const read = <T>(name: string, otherwise: T, parse: (text: string) => T | undefined, expected: string): T => {
    const text = env[name];
    if (text === undefined || text === '') return otherwise;
    const value = parse(text);
    if (value === undefined) mistakes.push(`${name} must be ${expected}, not ${JSON.stringify(text)}.`);
    return value ?? otherwise;
  };
  const port = (text: string): number | undefined => (/^\d{1,5}$/.test(text) && Number(text) < 65_536 ? Number(text) : undefined);
  const level = (text: string): LogLevel | undefined => logLevels.find((one) => one === text);

  const config: Config = {
    dataDir: resolve(read('HEADWATER_DATA', 'data', (text) => text, 'a folder')),
    host: read('HEADWATER_HOST', '127.0.0.1', (text) => (/^[\w.:-]+$/.test(text) ? text : undefined), 'an address or host name'),
    port: read('HEADWATER_PORT', 8080, port, 'a port from 0 to 65535'),
    adminPort: read('HEADWATER_ADMIN_PORT', 8081, port, 'a port from 0 to 65535'),
    logLevel: read<LogLevel>('HEADWATER_LOG_LEVEL', 'info', level, `one of ${logLevels.join(', ')}`),
  };
  if (config.port !== 0 && config.port === config.adminPort) mistakes.push('HEADWATER_ADMIN_PORT must not be HEADWATER_PORT.');
  if (mistakes.length > 0) throw new StartError(mistakes.join('\n'));
  return config;
}

import { settings, type Config, type Setting } from './settings.js';

/** Something that the operator must mend before the server can start, in sentences for a person. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

export type Env = Readonly<Record<string, string | undefined>>;

/** Reads every variable once. @throws StartError that names all that are wrong. */
export function readConfig(env: Env): Config {
  const mistakes: string[] = [];
  const read = ([name, { variable, otherwise, parse, expected }]: [string, Setting<unknown>]): [string, unknown] => {
    const given = env[variable];
    const value = parse(given || otherwise);
    if (value === undefined) mistakes.push(`${variable} must be ${expected}${shown(given)}.`);
    return [name, value];
  };
  const config = Object.fromEntries(Object.entries<Setting<unknown>>(settings).map(read)) as Config;
  if (config.port !== 0 && config.port === config.adminPort) mistakes.push('HEADWATER_ADMIN_PORT must not be HEADWATER_PORT.');
  if (mistakes.length > 0) throw new StartError(mistakes.join('\n'));
  return config;
}

/** What was given, but for what may hold a password. */
const shown = (given: string | undefined): string => (given?.includes('//') ? '' : `, not ${JSON.stringify(given)}`);

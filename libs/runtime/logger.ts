import type { LoggerService } from '@nestjs/common';
import { destination, pino, type LevelWithSilent, type Logger } from 'pino';

export type { Logger };

/** Writes to stderr: pretty for a person at a terminal, a JSON object a line for everyone else. */
export async function createLogger(level: LevelWithSilent): Promise<Logger> {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (!process.stderr.isTTY) return pino(options, destination({ dest: 2, sync: true }));
  const { default: pretty } = await import('pino-pretty');
  return pino(options, pretty({ destination: 2, sync: true, translateTime: 'SYS:HH:MM:ss.l', singleLine: true }));
}

/** Parts of Nest that log each step of an ordinary start, and errors that they also throw. */
const chatty = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

/** Our log as Nest's own. */
export function nestLogger(logger: Logger): LoggerService {
  type Level = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';
  const write = (level: Level, message: unknown, part?: string, stack?: string): void => {
    const told = part !== undefined && chatty.has(part) ? 'debug' : level;
    logger[told]({ part, stack }, message instanceof Error ? message.message : String(message));
  };
  return {
    log: (message: unknown, part?: string) => write('info', message, part),
    warn: (message: unknown, part?: string) => write('warn', message, part),
    error: (message: unknown, stack?: string, part?: string) => write('error', message, part, stack),
    debug: (message: unknown, part?: string) => write('debug', message, part),
    verbose: (message: unknown, part?: string) => write('trace', message, part),
    fatal: (message: unknown, part?: string) => write('fatal', message, part),
  };
}

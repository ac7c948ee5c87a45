import type { LoggerService } from '@nestjs/common';
import { destination, pino, type Logger } from 'pino';
import type { LogLevel } from './config.js';

export type { Logger };

/** Writes to stderr: pretty for a person at a terminal, a JSON object a line for everyone else. */
export async function createLogger(level: LogLevel): Promise<Logger> {
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

/** Parts of Nest that tell of each step of an ordinary start. */
const chatty = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

/** Our log as Nest's own. */
export function nestLogger(logger: Logger): LoggerService {
  const text = (message: unknown): string => (message instanceof Error ? message.message : String(message));
  return {
    log: (message: unknown, part?: string) => logger[part !== undefined && chatty.has(part) ? 'debug' : 'info']({ part }, text(message)),
    warn: (message: unknown, part?: string) => logger.warn({ part }, text(message)),
    error: (message: unknown, stack?: string, part?: string) => logger.error({ part, stack }, text(message)),
    debug: (message: unknown, part?: string) => logger.debug({ part }, text(message)),
    verbose: (message: unknown, part?: string) => logger.trace({ part }, text(message)),
    fatal: (message: unknown, part?: string) => logger.fatal({ part }, text(message)),
  };
}

import { defaultUrl, findServer, Headwater, readSettings, type Server } from '#client';
import type { Values } from './command.js';
import { usage } from './failure.js';
import type { Io } from './io.js';

/** The flags of every command that talks to a server. */
export const connectionFlags = {
  url: { value: 'URL', about: `address of the server (else HEADWATER_URL, the file of \`init\`, ${defaultUrl})` },
  apiKey: { value: 'KEY', about: 'API key; others on this machine see it in `ps`, so prefer HEADWATER_API_KEY or `init`' },
} as const;

const patienceMs = 300_000;

export interface Connection {
  readonly headwater: Headwater;
  /** For what is asked once, and is no part of the library for readers. */
  readonly server: Server;
  /** Whether the server has answered anything yet. */
  readonly hasAnswered: () => boolean;
}

/**
 * The server that flags, variables or the file of `init` and `login` name. Where it is busy or away the command waits and says so. Until it
 * has answered once there is only one try, because the address may be wrong.
 *
 * @param doing what is done again after a wait.
 */
export async function connect(flags: Values<typeof connectionFlags>, io: Io, doing = 'Trying'): Promise<Connection> {
  const server = await findServer(flags, readSettings);
  if (!server.apiKey) throw usage('There is no API key: run `headwater init` or `headwater login`, or set HEADWATER_API_KEY.');
  let isAnswered = false;
  const headwater = new Headwater({
    ...server,
    patienceMs,
    async fetch(...asked) {
      const response = await fetch(...asked);
      isAnswered = true;
      return response;
    },
    onRetry(error, waitMs) {
      if (!isAnswered) throw error;
      io.note(`${error.message} ${doing} again in ${(waitMs / 1000).toFixed(1)} s.`);
    },
  });
  return { headwater, server, hasAnswered: () => isAnswered };
}

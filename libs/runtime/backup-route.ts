import { hash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { causes } from '#model';
import type { Logger } from './logger.js';

/** A backup, piece by piece; ended early, it leaves nothing. */
export type MakeBackup = (signal: AbortSignal) => AsyncIterable<Uint8Array>;

/** A reader that takes nothing for so long is cut off: what is open for it keeps space on the disk. */
const patienceMs = 30_000;

/** Sends a backup to whoever knows the token, to one reader at a time. */
export class BackupRoute {
  #isSending = false;

  constructor(
    private readonly token: string,
    private readonly make: MakeBackup,
    private readonly logger: Pick<Logger, 'info' | 'warn'>,
  ) {}

  /** Never rejects. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.#isAllowed(request.headers.authorization)) return refuse(response, 401, 'Send HEADWATER_BACKUP_TOKEN as a bearer token.');
    if (request.method !== 'GET') return refuse(response, 405, 'Ask with GET.');
    if (this.#isSending) return refuse(response, 503, 'Another backup is being sent: try again when it is done.');
    this.#isSending = true;
    try {
      await this.#send(response);
    } finally {
      this.#isSending = false;
    }
  }

  /** Digests have one length, and comparing them tells nothing about the token. */
  #isAllowed(authorization = ''): boolean {
    const digest = (text: string): Buffer => hash('sha256', text, 'buffer');
    return timingSafeEqual(digest(authorization.replace(/^bearer +/i, '')), digest(this.token));
  }

  async #send(response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => gone.abort(new Error('the reader went away')));
    let bytes = 0;
    try {
      for await (const piece of this.make(gone.signal)) {
        if (bytes === 0) response.writeHead(200, { 'content-type': 'application/x-tar', 'cache-control': 'no-store' });
        bytes += piece.length;
        if (!response.write(piece)) await taken(response, gone.signal);
      }
      response.end();
      this.logger.info({ bytes }, 'a backup was sent');
    } catch (cause) {
      const why = gone.signal.aborted ? (gone.signal.reason as Error).message : causes(cause);
      this.logger.warn({ bytes }, `a backup could not be sent: ${why}`);
      // A reader sees that it lacks the end.
      if (response.headersSent) response.destroy();
      else refuse(response, 503, why);
    }
  }
}

async function taken(response: ServerResponse, gone: AbortSignal): Promise<void> {
  const late = AbortSignal.timeout(patienceMs);
  try {
    await once(response, 'drain', { signal: AbortSignal.any([gone, late]) });
  } catch (cause) {
    throw late.aborted ? new Error(`the reader took nothing for ${patienceMs / 1000} seconds`, { cause }) : cause;
  }
}

const more: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'www-authenticate': 'Bearer' },
  405: { allow: 'GET' },
  503: { 'retry-after': '60' },
};

function refuse(response: ServerResponse, status: number, sentence: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...more[status] }).end(`${sentence}\n`);
}

import { HeadwaterError } from '../error.js';
import { callTo } from '../request.js';
import { monotonicMs, onAbort } from '../waiting.js';
import { type Access, type Asked, type Parameters, queryOf } from './access.js';
import { eventsOf } from './event-stream.js';
import type { StreamMessage } from './types.js';

/** The server says something every 30 seconds. */
const silenceMs = 75_000;

export interface StreamOptions extends Asked {
  /** Goes on behind this cursor, that of the last message that was read; else with what is accepted from now on. */
  readonly after?: string | undefined;
}

/**
 * What is accepted from now on, over as many connections as it takes: each goes on behind the last message. Ends when the server refuses it
 * for good, with the reason of `signal`, or when its reader leaves the loop; then the connection is closed. It reads on only when asked for
 * the next message, so that nothing piles up here.
 */
export async function* follow(
  access: Access,
  path: string,
  parameters: Parameters,
  { after, signal }: StreamOptions,
): AsyncGenerator<StreamMessage, never> {
  let cursor = after;
  // An address that has never answered may be wrong; one that has comes back.
  let endMs = monotonicMs() + access.patienceMs;
  for (let tries = 0; ; tries++) {
    try {
      for await (const message of connection(access, path + queryOf(parameters), cursor, signal)) {
        endMs = Infinity;
        cursor = message.cursor ?? cursor;
        if (message.type !== 'cursor') tries = 0;
        yield message;
      }
    } catch (error) {
      if (error instanceof HeadwaterError && error.status !== undefined) endMs = Infinity;
      await access.wait(error, tries, endMs, signal);
    }
  }
}

async function* connection(access: Access, path: string, cursor: string | undefined, signal?: AbortSignal): AsyncGenerator<StreamMessage> {
  // Only the time in which we wait for the server counts as silence of it, not that which our reader takes.
  const call = callTo(await access.server(), silenceMs, signal);
  try {
    const headers = { accept: 'text/event-stream', ...(cursor !== undefined && { 'last-event-id': cursor }) };
    const { body } = await call.heard(call.open(path, { headers }));
    const reader = body!.getReader();
    // Deno forgets the signal of a request that is answered, once it has collected its garbage.
    onAbort(call.signal, () => void reader.cancel().catch(() => undefined));
    for await (const { id, name, data } of eventsOf(() => call.heard(reader.read()))) {
      if (name === 'close') throw closed(data);
      const message = data ? (JSON.parse(data) as StreamMessage) : ({ type: 'cursor' } as const);
      if (data || id) yield { ...message, ...(id && { cursor: id }) };
    }
    throw closed();
  } catch (error) {
    throw call.failure(error);
  } finally {
    call.release();
    call.abort();
  }
}

/** Of the codes that a stream is closed with, those after which it makes no sense to come back. */
const final: Readonly<Record<number, readonly [code: string, status: number]>> = {
  4401: ['invalid_key', 401],
  4402: ['payment_required', 402],
};

function closed(data = '{}'): HeadwaterError {
  const { code = 0, reason = 'The stream has ended.' } = JSON.parse(data) as { readonly code?: number; readonly reason?: string };
  const [name, status] = final[code] ?? ['no_answer'];
  return new HeadwaterError(reason, name, { status });
}

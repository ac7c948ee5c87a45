import { HeadwaterError } from '../error.js';
import { mapped } from '../request.js';
import { monotonicMs, onAbort, within } from '../waiting.js';
import { type Access, type Asked, type Parameters, queryOf } from './access.js';
import { eventsOf } from './event-stream.js';
import type { StreamMessage } from './types.js';

/** The server says something every 30 seconds. */
const silenceMs = 75_000;
const unauthorized = 4401;
const unpaid = 4402;

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
  const ours = new AbortController();
  const release = onAbort(signal, (reason) => ours.abort(reason));
  // Only the time in which we wait for the server counts as silence of it, not that which our reader takes.
  const heard = <T>(answer: Promise<T>): Promise<T> =>
    within(silenceMs, answer, () => ours.abort(new HeadwaterError('The server is silent.', 'timeout')));
  try {
    const headers = { accept: 'text/event-stream', ...(cursor !== undefined && { 'last-event-id': cursor }) };
    const { body } = await heard(access.open(path, headers, ours.signal));
    const reader = body!.getReader();
    // Deno forgets the signal of a request that is answered, once it has collected its garbage.
    onAbort(ours.signal, () => void reader.cancel().catch(() => undefined));
    for await (const { id, name, data } of eventsOf(() => heard(reader.read()))) {
      if (name === 'close') throw closed(data);
      if (data !== undefined) yield { ...(JSON.parse(data) as StreamMessage), ...(id !== undefined && { cursor: id }) };
      else if (id !== undefined) yield { type: 'cursor', cursor: id };
    }
    throw new HeadwaterError('The connection ended.', 'no_answer');
  } catch (cause) {
    throw mapped(await access.server(), cause, ours.signal);
  } finally {
    release();
    ours.abort();
  }
}

function closed(data = '{}'): HeadwaterError {
  const { code, reason = 'The server ended the stream.' } = JSON.parse(data) as { readonly code?: number; readonly reason?: string };
  if (code === unauthorized) return new HeadwaterError(reason, 'invalid_key', { status: 401 });
  if (code === unpaid) return new HeadwaterError(reason, 'payment_required', { status: 402 });
  return new HeadwaterError(reason, 'no_answer');
}

import { HeadwaterError } from '../error.js';
import { request, type Server } from '../request.js';

/** A body of fewer bytes is sent as it is: compression saves less than it costs. */
const worthBytes = 1024;

/** Posts points, in JSON with a comma between them. Resolves when they are stored. Rejects `HeadwaterError`, or the reason of `signal`. */
export type Post = (points: string, signal: AbortSignal) => Promise<void>;

export function httpWay(server: () => Promise<Server>, sourceId: string): Post {
  let zips = typeof CompressionStream !== 'undefined';
  return async function post(points, signal) {
    const text = `{"source_id":${JSON.stringify(sourceId)},"points":[${points}]}`;
    const isZipped = zips && text.length > worthBytes;
    try {
      await request(await server(), '/ingest', { method: 'POST', body: isZipped ? await gzip(text) : text, signal });
    } catch (error) {
      if (!isZipped || !(error instanceof HeadwaterError) || error.status !== 415) throw error;
      // Something on the way does not take compressed bodies.
      zips = false;
      await post(points, signal);
    }
  };
}

async function gzip(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const zipped = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'));
  return new Uint8Array(await new Response(zipped).arrayBuffer());
}

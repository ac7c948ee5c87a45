import { request, type Server } from '../request.js';

/** A body of fewer bytes is sent as it is: compression saves less than it costs. */
const worthBytes = 1024;

/** Posts points to the server, one body at a time. */
export class HttpWay {
  /** Turned off where something on the way does not take compressed bodies. */
  zips = typeof CompressionStream !== 'undefined';

  constructor(
    private readonly server: () => Promise<Server>,
    private readonly sourceId: string,
  ) {}

  /** Resolves when the points are stored. Rejects `HeadwaterError`, or the reason of `signal`. */
  async post(points: string, signal: AbortSignal): Promise<void> {
    const body = `{"source_id":${JSON.stringify(this.sourceId)},"points":[${points}]}`;
    const isZipped = this.zips && body.length > worthBytes;
    await request(await this.server(), '/ingest', {
      method: 'POST',
      body: isZipped ? await gzip(body) : body,
      headers: isZipped ? { 'content-encoding': 'gzip' } : {},
      signal,
    });
  }
}

async function gzip(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const zipped = new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'));
  return new Uint8Array(await new Response(zipped).arrayBuffer());
}

import type { Accepted, IngestContext } from './accepted.js';
import { acceptBody } from './ingest-body.js';
import { parseJson } from './json.js';
import { pruneBody } from './prune-body.js';
import { scanBody } from './scan-body.js';

/** Whatever a smaller body holds is parsed in a few milliseconds. */
const pruneFromBytes = 64 * 1024;

/**
 * Reads the body of an ingest request, all of it or nothing.
 *
 * @throws TelemetryError `invalid_json`, `json_too_deep`, `invalid_body`, `too_many_points`, and `invalid_points` with the first 20 flaws.
 */
export function parseIngest(body: Uint8Array, context: IngestContext): Accepted {
  return scanBody(body, context) ?? acceptBody(parseJson(body, body.length < pruneFromBytes ? undefined : pruneBody), context);
}

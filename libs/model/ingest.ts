import type { Accepted, IngestContext } from './accepted.js';
import { acceptBody } from './ingest-body.js';
import { parseJson } from './json.js';
import { pruneBody } from './prune-body.js';
import { scanBody } from './scan-body.js';

/**
 * Reads the body of an ingest request, all of it or nothing.
 *
 * @throws TelemetryError `invalid_json`, `json_too_deep`, `invalid_body`, `too_many_points`, and `invalid_points` with the first 20 flaws.
 */
export function parseIngest(body: Uint8Array, context: IngestContext): Accepted {
  return scanBody(body, context) ?? parseAny(body, context);
}

/** As `parseIngest`, in one way for whatever comes. */
export function parseAny(body: Uint8Array, context: IngestContext): Accepted {
  return acceptBody(parseJson(body, pruneBody), body, context);
}

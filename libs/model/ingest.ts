import type { Accepted, IngestContext } from './accepted.js';
import { acceptBody } from './ingest-body.js';
import { parseJson } from './json.js';
import { NameTable } from './name-table.js';
import { PointMemory } from './point-collector.js';
import { pruneBody } from './prune-body.js';
import { scanBody } from './scan-body.js';

/** Reads the bodies of ingest requests, one at a time. It keeps memory and short strings from one body for the next. */
export class IngestParser {
  readonly #memory = { names: new NameTable(), points: new PointMemory() };

  /**
   * Reads all of a body or nothing.
   *
   * @throws TelemetryError `invalid_json`, `json_too_deep`, `invalid_body`, `too_many_points`, and `invalid_points` with the first 20 flaws.
   */
  parse(body: Uint8Array, context: IngestContext): Accepted {
    return this.scan(body, context) ?? this.parseAny(body, context);
  }

  /** As `parse`, for the usual shapes of a body only; undefined for any other. */
  scan(body: Uint8Array, context: IngestContext): Accepted | undefined {
    return scanBody(body, context, this.#memory);
  }

  /** As `parse`, in the one way that reads every body. */
  parseAny(body: Uint8Array, context: IngestContext): Accepted {
    return acceptBody(parseJson(body, pruneBody), body, context, this.#memory.points);
  }
}

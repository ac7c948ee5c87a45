import { isUtf8 } from 'node:buffer';
import type { Accepted, IngestContext } from './accepted.js';
import { BodyScanner } from './body-scanner.js';
import { JsonCursor, unusual } from './json-cursor.js';
import { checkJson } from './json.js';
import { acceptBody } from './ingest-body.js';
import { NameTable } from './name-table.js';
import { PointMemory } from './point-collector.js';
import { sentBody } from './sent-body.js';
import { SourceIds } from './source-ids.js';

/** The memory of so many bodies that are read at the same time is kept. */
const maxKept = 4;

/**
 * Reads the bodies of ingest requests, in steps: a usual body in one, a costly one in steps of some milliseconds, between which others may be read. It
 * keeps memory and short strings from one body for the next.
 */
export class IngestParser {
  readonly #names = new NameTable();
  readonly #sourceIds = new SourceIds();
  readonly #kept: PointMemory[] = [];

  /**
   * Reads all of a body or nothing.
   *
   * @throws TelemetryError `invalid_json`, `json_too_deep`, `invalid_body`, `too_many_points`, and `invalid_points` with the first 20 flaws.
   */
  *parse(body: Uint8Array, context: IngestContext): Generator<void, Accepted> {
    return (yield* this.scan(body, context)) ?? (yield* this.parseAny(body, context));
  }

  /**
   * Reads the usual shapes of a body in one pass over its bytes, without an object for each point. Undefined means that the body has another
   * shape, whether it is valid or not. Where this answers, `parseAny` answers the same.
   */
  *scan(body: Uint8Array, context: IngestContext): Generator<void, Accepted | undefined> {
    if (!isUtf8(body)) return undefined;
    const memory = this.#kept.pop() ?? new PointMemory();
    try {
      const json = new JsonCursor(bufferOf(body), this.#names);
      return yield* new BodyScanner(json, context, this.#names.nextScan(), memory, this.#sourceIds).body();
    } catch (error) {
      if (error === unusual) return undefined;
      throw error;
    } finally {
      this.#keep(memory);
    }
  }

  /** As `parse`, in the one way that reads every body. */
  *parseAny(body: Uint8Array, context: IngestContext): Generator<void, Accepted> {
    checkJson(body);
    yield;
    const bytes = bufferOf(body);
    const memory = this.#kept.pop() ?? new PointMemory();
    try {
      return yield* acceptBody(yield* sentBody(bytes), bytes, context, memory);
    } finally {
      this.#keep(memory);
    }
  }

  #keep(memory: PointMemory): void {
    memory.end();
    if (this.#kept.length < maxKept) this.#kept.push(memory);
  }
}

const bufferOf = (body: Uint8Array): Buffer => Buffer.from(body.buffer, body.byteOffset, body.length);

/** The result of work that is done in steps, with all steps at once. */
export function atOnce<T>(work: Iterator<unknown, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

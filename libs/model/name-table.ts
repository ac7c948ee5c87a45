import { field } from './field.js';
import { backslash, behindSame, quote } from './json-bytes.js';
import { isMetric, isSourceId, maxNameBytes } from './names.js';

const fieldOf: ReadonlyMap<string, number> = new Map(Object.entries(field));

/** A short string of bodies, kept once, and what the latest scan that met it as a metric knows of it. */
export interface Name {
  /** Where its UTF-8 begins in the memory of the table, and how many bytes it has with the closing quote behind it. */
  readonly at: number;
  readonly length: number;
  readonly text: string;
  /** The bit of the field of this name, else 0. */
  readonly field: number;
  readonly isMetric: boolean;
  readonly isSourceId: boolean;
  /** False once another name has taken its slot. It is not used any more then, so that there is one object for each text. */
  isKept: boolean;
  /** The name that followed this one the last time. Usually it follows again. */
  next: Name | undefined;
  /** The number of the scan, the source and the tags for which `run` is the run of this metric. */
  scan: number;
  sourceId: string;
  tags: number;
  run: number;
}

const slots = 4096;
const slotBytes = maxNameBytes + 1;

/** The names that came in bodies lately. The table has a fixed size and one name a slot, so that no body can make it grow or slow. */
export class NameTable {
  readonly #names: (Name | undefined)[] = Array.from({ length: slots });
  /** A buffer for each name would take longer to make than all the rest of it. */
  readonly #bytes = new Uint8Array(slots * slotBytes);
  readonly #view = new DataView(this.#bytes.buffer);
  #scans = 0;

  /** The number of a new scan: the next one up. Names note it, to tell what this scan found from what earlier scans found. */
  nextScan(): number {
    return ++this.#scans;
  }

  /**
   * The name whose bytes begin at `start`, behind the opening quote. The name that followed `last` before is tried first. Undefined when
   * there is an escape, a control character, no end or too many bytes.
   *
   * @param view of the same bytes.
   */
  nameAt(bytes: Buffer, view: DataView, start: number, last: Name | undefined): Name | undefined {
    const expected = this.nextAgain(view, start, last, bytes.length);
    if (expected) return expected;
    const name = this.#lookedUp(bytes, view, start);
    if (last?.isKept) last.next = name;
    return name;
  }

  /** The name that followed `last` the last time, if its bytes begin at `start` again; else undefined. @param limit where the bytes of the body end. */
  nextAgain(view: DataView, start: number, last: Name | undefined, limit: number): Name | undefined {
    const name = last?.next;
    return name?.isKept && this.#isAt(name, view, start, limit) ? name : undefined;
  }

  #lookedUp(bytes: Buffer, view: DataView, start: number): Name | undefined {
    let hash = 0;
    let at = start;
    for (let byte = bytes[at]!; byte !== quote; byte = bytes[++at]!) {
      if (!(byte >= 0x20) || byte === backslash || at - start >= maxNameBytes) return undefined;
      hash = Math.imul(hash ^ byte, 0x01000193);
    }
    const slot = (hash ^ (hash >>> 15)) & (slots - 1);
    const known = this.#names[slot];
    if (known && this.#isAt(known, view, start, bytes.length)) return known;
    if (known) release(known);
    const own = slot * slotBytes;
    for (let byte = start; byte <= at; byte++) this.#bytes[own + byte - start] = bytes[byte]!;
    return (this.#names[slot] = newName(bytes.toString('utf8', start, at), own, at + 1 - start));
  }

  #isAt({ at, length }: Name, view: DataView, start: number, limit: number): boolean {
    return behindSame(view, start, this.#view, at, length, limit) >= 0;
  }
}

/** A released name refers to no other: a chain of released names would never be freed. */
function release(name: Name): void {
  name.isKept = false;
  name.next = undefined;
}

function newName(text: string, at: number, length: number): Name {
  return {
    at,
    length,
    text,
    field: fieldOf.get(text) ?? 0,
    isMetric: isMetric(text),
    isSourceId: isSourceId(text),
    isKept: true,
    next: undefined,
    scan: 0,
    sourceId: '',
    tags: 0,
    run: 0,
  };
}

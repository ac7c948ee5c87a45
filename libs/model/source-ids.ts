import { backslash, quote } from './json-bytes.js';
import { isSourceId, maxNameBytes } from './names.js';

/** So many source ids are kept; then they are all forgotten. */
const maxKept = 16_384;

/**
 * The source ids of recent bodies, each kept as one string. V8 finds that string in a map at once; for a new string with the same characters it first has to search
 * the table of all its strings.
 */
export class SourceIds {
  /** By a hash of their bytes. Of two with one hash, the later one is kept. */
  readonly #kept = new Map<number, string>();

  /** The source id whose bytes begin at `start` and end in front of a quote. Undefined when these bytes are not a valid source id, or have an escape. */
  at(bytes: Buffer, start: number): string | undefined {
    let hash = 0;
    let end = start;
    for (let byte = bytes[end]!; byte !== quote; byte = bytes[++end]!) {
      if (!(byte >= 0x20) || byte === backslash || end - start === maxNameBytes) return undefined;
      hash = Math.imul(hash ^ byte, 0x01000193);
    }
    const kept = this.#kept.get(hash);
    return kept !== undefined && isAt(kept, bytes, start, end) ? kept : this.#keep(hash, bytes.toString('latin1', start, end));
  }

  #keep(hash: number, text: string): string | undefined {
    if (!isSourceId(text)) return undefined;
    if (this.#kept.size >= maxKept) this.#kept.clear();
    this.#kept.set(hash, text);
    return text;
  }
}

function isAt(text: string, bytes: Buffer, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let at = start; at < end; at++) if (text.charCodeAt(at - start) !== bytes[at]) return false;
  return true;
}

/** With 16 bits for each name, four of them set, about one unknown name in 400 is taken for a known one. */
const bitsPerName = 16;
const bitsSet = 4;
/** Names that the first part of a filter takes; each further part takes twice as many as the one before. */
const firstNames = 1024;

/** Two numbers of 32 bits that stand for a name. */
export interface NameHash {
  a: number;
  b: number;
}

/**
 * A Bloom filter that grows: which names were added. Some that were not are taken for one that was, never the other way round. It takes at
 * most four bytes for each name.
 */
export class NameFilter {
  /** The oldest first. The number of bits of each is a power of two. */
  readonly #parts: Uint32Array[] = [];
  /** Names that the newest part still takes. */
  #room = 0;

  has(hash: NameHash): boolean {
    for (let at = this.#parts.length - 1; at >= 0; at--) if (holds(this.#parts[at]!, hash)) return true;
    return false;
  }

  add({ a, b }: NameHash): void {
    if (this.#room === 0) this.#grow();
    this.#room--;
    const part = this.#parts.at(-1)!;
    const mask = part.length * 32 - 1;
    for (let set = 0, bit = a; set < bitsSet; set++, bit = (bit + b) | 0) part[(bit & mask) >>> 5]! |= 1 << (bit & 31);
  }

  #grow(): void {
    const names = firstNames * 2 ** this.#parts.length;
    this.#parts.push(new Uint32Array((names * bitsPerName) / 32));
    this.#room = names;
  }
}

function holds(part: Uint32Array, { a, b }: NameHash): boolean {
  const mask = part.length * 32 - 1;
  for (let set = 0, bit = a; set < bitsSet; set++, bit = (bit + b) | 0) if (!(part[(bit & mask) >>> 5]! & (1 << (bit & 31)))) return false;
  return true;
}

/**
 * Hashes `text` behind what `from` stands for, into `into`, which it returns. Whoever does not know what the first `from` was cannot choose texts that are
 * taken for each other.
 */
export function addText(from: NameHash, text: string, into: NameHash): NameHash {
  let { a, b } = from;
  const { length } = text;
  for (let at = 0; at < length; at += 2) {
    const units = text.charCodeAt(at) | (at + 1 < length ? text.charCodeAt(at + 1) << 16 : 0);
    a = Math.imul(a ^ units, 0x85eb_ca6b);
    a ^= a >>> 15;
    b = Math.imul(b ^ units, 0xc2b2_ae35);
    b ^= b >>> 13;
  }
  // The length ends the text: otherwise `ab` and `c` would be `a` and `bc`.
  a = Math.imul(a ^ length, 0x27d4_eb2f);
  b = Math.imul(b ^ length, 0x1656_67b1);
  into.a = a ^ (a >>> 16);
  // Odd, so that the bits of a name differ.
  into.b = (b ^ (b >>> 15)) | 1;
  return into;
}

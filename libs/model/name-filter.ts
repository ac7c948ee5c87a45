const firstSlots = 16;
/** What an empty slot holds. */
const empty = 0;

/** Two numbers of 32 bits that stand for a name. */
export interface NameHash {
  a: number;
  b: number;
}

/**
 * Which names were added, as 32 bits of the hash of each: with a million names, one unknown name in 4,000 is taken for a known one, never the
 * other way round. It takes at most eleven bytes for each name.
 */
export class NameFilter {
  /** A hash table with linear probing. The number of slots is a power of two; at most three in four are taken. */
  #slots = new Int32Array(firstSlots);
  #count = 0;

  has(hash: NameHash): boolean {
    const bits = bitsOf(hash);
    return this.#slots[slotOf(bits, this.#slots)] === bits;
  }

  add(hash: NameHash): void {
    const bits = bitsOf(hash);
    const slot = slotOf(bits, this.#slots);
    if (this.#slots[slot] === bits) return;
    this.#slots[slot] = bits;
    if (++this.#count * 4 > this.#slots.length * 3) this.#grow();
  }

  #grow(): void {
    const slots = new Int32Array(this.#slots.length * 2);
    for (const bits of this.#slots) if (bits !== empty) slots[slotOf(bits, slots)] = bits;
    this.#slots = slots;
  }
}

/** Never `empty`. */
const bitsOf = ({ a, b }: NameHash): number => a ^ Math.imul(b, 0x9e37_79b1) || 1;

/** Where these bits are, or else the empty slot where they belong. */
function slotOf(bits: number, slots: Int32Array): number {
  const mask = slots.length - 1;
  let slot = bits & mask;
  while (slots[slot] !== bits && slots[slot] !== empty) slot = (slot + 1) & mask;
  return slot;
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

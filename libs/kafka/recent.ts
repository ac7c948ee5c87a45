interface Made<T> {
  readonly bytes: Buffer;
  readonly value: T;
  readonly heldBytes: number;
}

/** What one more value takes beside its bytes, about. */
const overheadBytes = 200;

/** What was made of some bytes of late; the oldest is forgotten first. */
export class Recent<T> {
  readonly #made = new Map<string | number, Made<T>>();
  #heldBytes = 0;

  constructor(private readonly maxBytes: number) {}

  /** @param name what it was remembered as. Undefined when it is not known, or was made of other bytes. */
  of(name: string | number, bytes: Buffer): T | undefined {
    const made = this.#made.get(name);
    return made?.bytes.equals(bytes) ? made.value : undefined;
  }

  /** @param bytes nobody may change them. @param heldBytes what is held in memory for the value, with its bytes. */
  remember(name: string | number, bytes: Buffer, value: T, heldBytes: number): void {
    this.#forget(name);
    this.#made.set(name, { bytes, value, heldBytes: heldBytes + overheadBytes });
    this.#heldBytes += heldBytes + overheadBytes;
    for (const oldest of this.#made.keys()) {
      if (this.#heldBytes <= this.maxBytes) break;
      this.#forget(oldest);
    }
  }

  #forget(name: string | number): void {
    this.#heldBytes -= this.#made.get(name)?.heldBytes ?? 0;
    this.#made.delete(name);
  }
}

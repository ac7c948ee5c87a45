interface Made<T> {
  readonly bytes: Buffer;
  readonly value: T;
  readonly heldBytes: number;
}

/** Memory that one entry takes besides what `remember` is told, about. */
const overheadBytes = 200;

/** A cache of values that were made of bytes, up to a number of bytes in memory; the oldest value is forgotten first. */
export class Recent<T> {
  readonly #made = new Map<string, Made<T>>();
  #heldBytes = 0;

  constructor(private readonly maxBytes: number) {}

  /** The value that was remembered under this name; undefined when there is none, or when it was made of other bytes. */
  of(name: string, bytes: Buffer): T | undefined {
    const made = this.#made.get(name);
    return made?.bytes.equals(bytes) ? made.value : undefined;
  }

  /** @param bytes what the value was made of; they must not change. @param heldBytes memory of the value and of `bytes`. */
  remember(name: string, bytes: Buffer, value: T, heldBytes: number): void {
    this.#forget(name);
    this.#made.set(name, { bytes, value, heldBytes: heldBytes + overheadBytes });
    this.#heldBytes += heldBytes + overheadBytes;
    for (const oldest of this.#made.keys()) {
      if (this.#heldBytes <= this.maxBytes) break;
      this.#forget(oldest);
    }
  }

  #forget(name: string): void {
    this.#heldBytes -= this.#made.get(name)?.heldBytes ?? 0;
    this.#made.delete(name);
  }
}

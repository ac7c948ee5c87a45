const none = new Uint8Array(0);
const decoder = new TextDecoder();

/** A buffer that grows as bytes are appended. */
export class ByteWriter {
  bytes = none;
  length = 0;

  clear(): void {
    this.length = 0;
  }

  written(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(1024, 2 * this.bytes.length, this.length + more));
    grown.set(this.written());
    this.bytes = grown;
  }

  /** An integer of 0 to 2^53, seven bits a byte, lowest first. */
  varint(value: number): void {
    this.reserve(8);
    let rest = value;
    while (rest >= 0x8000_0000) {
      this.bytes[this.length++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    let low = rest | 0;
    while (low >= 128) {
      this.bytes[this.length++] = (low & 127) | 128;
      low >>>= 7;
    }
    this.bytes[this.length++] = low;
  }

  /** An integer of -2^52 to 2^52. */
  zigzag(value: number): void {
    this.varint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  doubles(values: Float64Array): void {
    this.append(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }

  /** A text as the number of its UTF-8 bytes, followed by those bytes. */
  text(text: string): void {
    const bytes = Buffer.from(text);
    this.varint(bytes.length);
    this.append(bytes);
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }
}

/** Reads what a `ByteWriter` wrote. */
export class ByteReader {
  at = 0;

  constructor(public bytes: Uint8Array = none) {}

  varint(): number {
    const { bytes } = this;
    let byte = bytes[this.at++]!;
    if (byte < 128) return byte;
    let value = byte & 127;
    for (let shift = 7; shift < 28; shift += 7) {
      byte = bytes[this.at++]!;
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    for (let scale = 2 ** 28; ; scale *= 128) {
      byte = bytes[this.at++]!;
      value += (byte & 127) * scale;
      if (!(byte >= 128)) return value;
    }
  }

  zigzag(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  text(): string {
    const end = this.varint() + this.at;
    const text = decoder.decode(this.bytes.subarray(this.at, end));
    this.at = end;
    return text;
  }

  doubles(into: Float64Array, from: number, count: number): void {
    new Uint8Array(into.buffer, into.byteOffset + 8 * from, 8 * count).set(this.bytes.subarray(this.at, this.at + 8 * count));
    this.at += 8 * count;
  }
}

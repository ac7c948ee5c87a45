import type { Type } from 'avsc';
import type { AvroWriter } from './avro-writer.js';

/** Writes and reads the body of one version of a record type. */
export interface BodyCoder<V> {
  /** @throws Error when the value does not fit the schema. */
  write(value: V, to: AvroWriter): void;
  /** @throws Error when the bytes are not such a record. */
  read(body: Buffer): V;
}

/** Does what the schema says, whatever it is; ten times slower on columns than a coder made for them. */
export function generalCoder(type: () => Type): BodyCoder<unknown> {
  return {
    write: (value, to) => to.with((buffer, at) => type().encode(value, buffer, at)),
    read: (body) => type().fromBuffer(body),
  };
}

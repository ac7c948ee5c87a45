import { avroType } from './avro.js';

/** Why a reader with the schema `reader` cannot read what `writer` wrote, or undefined when it can. Both are schema texts. */
export function whyUnreadable(reader: string, writer: string): string | undefined {
  try {
    avroType(reader).createResolver(avroType(writer));
    return undefined;
  } catch (cause) {
    return (cause as Error).message;
  }
}

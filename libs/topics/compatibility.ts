import avsc from 'avsc';

/** Why a reader with the schema `reader` cannot read what `writer` wrote, or undefined when it can. Both are schema texts. */
export function whyUnreadable(reader: string, writer: string): string | undefined {
  try {
    plainType(reader).createResolver(plainType(writer));
    return undefined;
  } catch (cause) {
    return (cause as Error).message;
  }
}

const plainType = (schema: string): avsc.Type => avsc.Type.forSchema(JSON.parse(schema) as avsc.Schema);

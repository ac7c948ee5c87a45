import avsc from 'avsc';

/** A column: an array of numbers that our code holds as a Float64Array. */
class Column extends avsc.types.LogicalType {
  protected override _fromValue(value: number[]): Float64Array {
    return Float64Array.from(value);
  }
  protected override _toValue(value: Float64Array): number[] {
    return Array.from(value);
  }
  /** How to read what a writer with this type wrote; nothing when its numbers are not ours. */
  protected override _resolve(type: avsc.Type): ((value: unknown) => unknown) | undefined {
    const writer = type instanceof Column ? type.underlyingType : type;
    try {
      this.underlyingType.createResolver(writer);
    } catch {
      return undefined;
    }
    return (value) => Float64Array.from(value as ArrayLike<number>);
  }
}

const camel = (name: string): string => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/**
 * The schema as our code sees it: fields in camelCase, numeric arrays as columns. Avro's bytes carry no names, so what this type writes
 * is what the file says.
 */
function ours(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(ours);
  if (typeof schema !== 'object' || schema === null) return schema;
  const it = schema as Record<string, unknown>;
  if (it['type'] === 'record') {
    const fields = (it['fields'] as Record<string, unknown>[]).map((field) => ({
      ...field,
      name: camel(String(field['name'])),
      type: ours(field['type']),
    }));
    return { ...it, fields };
  }
  if (it['type'] === 'array') {
    const column = it['items'] === 'long' || it['items'] === 'double';
    return { ...it, items: ours(it['items']), ...(column && { logicalType: 'column' }) };
  }
  return 'type' in it && typeof it['type'] === 'object' ? { ...it, type: ours(it['type']) } : it;
}

/** The type of one schema text, with the names of our code. @throws Error when the text is not an Avro schema. */
export function avroType(schema: string): avsc.Type {
  return avsc.Type.forSchema(ours(JSON.parse(schema)) as avsc.Schema, { logicalTypes: { column: Column } });
}

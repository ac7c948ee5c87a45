import avsc from 'avsc';
import { pairsOf as pairsOfTags, tagsKey, type TagMap, type Tags } from '#model';

/** A column: an array of numbers that our code holds as a Float64Array. */
class Column extends avsc.types.LogicalType {
  protected override _fromValue(value: number[]): Float64Array {
    return Float64Array.from(value);
  }
  protected override _toValue(value: Float64Array): number[] {
    return Array.from(value);
  }
  /** How to read what a writer with this type wrote; undefined when its items cannot be read as our numbers. */
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

interface Pair {
  readonly key: string;
  readonly value: unknown;
}

/**
 * A map, read as what it is in Avro's bytes: an array of pairs. avsc's own map is an object with a prototype, which loses the key
 * `__proto__`.
 */
class PairMap extends avsc.types.LogicalType {
  protected override _fromValue(pairs: readonly Pair[]): unknown {
    const map = Object.create(null) as Record<string, unknown>;
    for (const { key, value } of pairs) map[key] = value;
    return map;
  }
  protected override _toValue(map: unknown): Pair[] {
    return pairsOf(map as object);
  }
  protected override _resolve(type: avsc.Type): ((value: unknown) => unknown) | undefined {
    if (!(type instanceof PairMap) || type.constructor !== this.constructor) return undefined;
    this.underlyingType.createResolver(type.underlyingType);
    return (value) => value;
  }
}

/** A map of strings, which is what the tags of a point are. */
class TagPairs extends PairMap {
  protected override _fromValue(pairs: readonly Pair[]): Tags {
    return tagsKey(super._fromValue(pairs) as TagMap);
  }
  protected override _toValue(tags: unknown): Pair[] {
    return pairsOfTags(tags as Tags).map(([key, value]) => ({ key, value }));
  }
}

const camel = (name: string): string => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/**
 * The schema as our code sees it: fields in camelCase, numeric arrays as columns, maps as arrays of pairs. Avro's bytes carry no names, so
 * what this type writes is what the file says.
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
      ...(isMap(field['type']) && 'default' in field && { default: pairsOf(field['default'] as object) }),
    }));
    return { ...it, fields };
  }
  if (it['type'] === 'array') {
    const column = it['items'] === 'long' || it['items'] === 'double';
    return { ...it, items: ours(it['items']), ...(column && { logicalType: 'column' }) };
  }
  if (isMap(it)) {
    const fields = [
      { name: 'key', type: 'string' },
      { name: 'value', type: ours(it['values']) },
    ];
    return { type: 'array', items: { type: 'record', fields }, logicalType: it['values'] === 'string' ? 'tags' : 'pairs' };
  }
  return 'type' in it && typeof it['type'] === 'object' ? { ...it, type: ours(it['type']) } : it;
}

const isMap = (schema: unknown): boolean => (schema as { type?: unknown } | null)?.type === 'map';
const pairsOf = (map: object): Pair[] => Object.entries(map).map(([key, value]) => ({ key, value }));

/** The type of one schema text, with the names of our code. @throws Error when the text is not an Avro schema. */
export function avroType(schema: string): avsc.Type {
  return avsc.Type.forSchema(ours(JSON.parse(schema)) as avsc.Schema, { logicalTypes: { column: Column, pairs: PairMap, tags: TagPairs } });
}

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

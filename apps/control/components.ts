import { z } from 'zod';

export type Json = Readonly<Record<string, unknown>>;

/** What a document of the API says once, by name, and refers to from many places. */
export class Components {
  readonly #schemas = new Map<string, Json>();
  readonly #responses = new Map<string, Json>();

  /** @param target the JSON Schema of the document: OpenAPI 3.1 has the newest one, AsyncAPI 3.0 an older one. */
  constructor(private readonly target: 'draft-2020-12' | 'draft-7' = 'draft-2020-12') {}

  /** The JSON Schema of a zod type; types with an id become components. */
  schema(type: z.ZodType, io: 'input' | 'output'): Json {
    const { $schema: _, ...schema } = z.toJSONSchema(type, { target: this.target, io, override: loosen });
    const text = JSON.stringify(schema).replaceAll(/"#\/(\$defs|definitions)\//g, '"#/components/schemas/');
    const { $defs, definitions = $defs, ...here } = JSON.parse(text) as Record<'$defs' | 'definitions', Record<string, Json> | undefined>;
    for (const [name, component] of Object.entries(definitions ?? {})) this.#schemas.set(name, component);
    return here;
  }

  /** A reference to a response; responses of one name are the same. */
  response(name: string, response: Json): Json {
    this.#responses.set(name, response);
    return { $ref: `#/components/responses/${name}` };
  }

  toJSON(): Json {
    return { schemas: sorted(this.#schemas), responses: sorted(this.#responses) };
  }
}

/** Objects may have more fields than a client knows of; and that an integer is a safe one goes without saying. */
function loosen({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}

const sorted = (named: ReadonlyMap<string, Json>): Json => Object.fromEntries([...named].toSorted(([a], [b]) => (a < b ? -1 : 1)));

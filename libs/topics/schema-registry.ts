/** Gives each Avro schema a number for ever; Confluent's words: a subject is a topic's name and `-value`. */
export interface SchemaRegistry {
  /** The id of a schema under a subject, made at the first call. Rejects a schema that cannot read all older ones of the subject. */
  register(subject: string, schema: string): Promise<number>;
  /** The text of the schema with this id, or undefined when there is none. */
  schema(id: number): Promise<string | undefined>;
}

/** Kafka, a schema registry and QuestDB, and how to end them. */
export interface Servers {
  /** What the roles are told of them. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

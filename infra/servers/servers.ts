/** Kafka, a schema registry and QuestDB, and how to end them. */
export interface Servers {
  /** What the roles are told of them. */
  readonly environment: Readonly<Record<string, string>>;
  /** Resolves when one of them has ended by itself, to a sentence that says which and how. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

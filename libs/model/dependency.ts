/** Something that a process needs beside itself, such as a database. */
export interface Dependency {
  /** What figures call it, such as `questdb`. */
  readonly id: string;
  /** What sentences call it, such as `QuestDB`. */
  readonly name: string;
  /** Why it cannot be used now, in words for the operator; undefined while it can. Asked about once a second. */
  readonly health: () => string | undefined;
  /** Whether requests are answered without it all the same. */
  readonly isSpare?: boolean;
}

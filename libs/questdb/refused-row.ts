/** A row that QuestDB will never take. */
export class RefusedRow extends Error {
  override readonly name = 'RefusedRow';

  /** @param symbols the row's own, as `symbolsText` writes them. */
  constructor(
    readonly symbols: string,
    cause: Error,
  ) {
    super(cause.message, { cause });
  }
}

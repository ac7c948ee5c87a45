/** Something that an operator must mend, in sentences for a person: a start and the commands print them, without a stack. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError';
}

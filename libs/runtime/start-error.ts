/** Something that the operator must mend before the server can start, in sentences for a person. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

const maxErrors = 8;
const maxLength = 1_000;

/** Why something failed, in one line: what each error of the chain says, from the outermost to the innermost, each thing once. */
export function causes(error: unknown): string {
  const said: string[] = [];
  let at = error;
  for (let n = 0; n < maxErrors && at !== undefined; n++) {
    const text = textOf(at);
    if (!said.some((one) => one.includes(text))) said.push(text);
    at = at instanceof Error ? at.cause : undefined;
  }
  return said.join(': ').slice(0, maxLength);
}

/** Node's error for a host with several addresses has a code and no message. */
function textOf(error: unknown): string {
  const { message, code } = (error ?? {}) as { readonly message?: unknown; readonly code?: unknown };
  return String(message || code || error)
    .replaceAll(/\s+/g, ' ')
    .replace(/\.$/, '');
}

import { STATUS_CODES } from 'node:http';
import { statusOf } from '#edge';
import { errorCases, flawCases, type ErrorCode, type ErrorKind, type FlawCode } from '#model';

/** May the same request be sent again? */
const again: Partial<Record<ErrorKind, string>> = {
  over_rate: 'Yes, once the seconds that the Retry-After header names have passed.',
  unavailable:
    'Yes, once the seconds that the Retry-After header names have passed. Points that have timestamps can be sent as often as you like: each is stored once.',
  internal: 'Yes. If it happens every time, tell the operator the request_id.',
};
const notAgain = 'No: the answer would be the same until something changes.';

/** A code of a problem, or of one of its `errors`. */
export type ExplainedCode = ErrorCode | FlawCode;
const all: readonly string[] = [...new Set([...Object.keys(errorCases), ...Object.keys(flawCases)])];
export const explainedCodes = all as readonly ExplainedCode[];
const isErrorCode = (code: ExplainedCode): code is ErrorCode => Object.hasOwn(errorCases, code);

/** What a code means and what to do about it, as plain text. */
export function errorPage(code: ExplainedCode): string {
  return isErrorCode(code) ? pageOf(code, errorCases[code]) : pageOfFlaw(code);
}

function pageOf(code: ErrorCode, { kind, title, remedy }: (typeof errorCases)[ErrorCode]): string {
  const status = statusOf[kind];
  return `${heading(code)}
${title}.
HTTP ${status} ${STATUS_CODES[status]}

What to do
    ${remedy}

May the same request be sent again?
    ${again[kind] ?? notAgain}

The detail of the answer says what was wrong with your request.
All routes and the codes of each: /openapi.json
`;
}

function pageOfFlaw(code: FlawCode): string {
  return `${heading(code)}
A point of the body is not valid. This code stands in the list \`errors\` of a problem with the code invalid_points.

What to do
    ${flawCases[code]}

May the same request be sent again?
    ${notAgain}

The pointer beside the code says which point it is.
The problem that lists it: /errors/invalid_points
`;
}

const heading = (code: string): string => `${code}\n${'='.repeat(code.length)}\n`;

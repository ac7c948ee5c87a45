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

/** What a code means and what to do about it. */
export interface Explanation {
  readonly title: string;
  /** Such as `HTTP 404 Not Found`; empty for a code that stands in the list of another problem. */
  readonly status: string;
  readonly remedy: string;
  /** May the same request be sent again? */
  readonly again: string;
  readonly where: string;
}

export function explain(code: ExplainedCode): Explanation {
  if (!isErrorCode(code)) {
    return {
      title: 'A point of the body is not valid. This code stands in the list `errors` of a problem with the code invalid_points',
      status: '',
      remedy: flawCases[code],
      again: notAgain,
      where: 'The pointer beside the code says which point it is.\nThe problem that lists it: /errors/invalid_points',
    };
  }
  const { kind, title, remedy } = errorCases[code];
  const status = `HTTP ${statusOf[kind]} ${STATUS_CODES[statusOf[kind]]}`;
  const where = 'The detail of the answer says what was wrong with your request.\nAll routes and the codes of each: /openapi.json';
  return { title, status, remedy, again: again[kind] ?? notAgain, where };
}

/** The same as plain text. */
export function errorPage(code: ExplainedCode): string {
  const { title, status, remedy, again: mayRepeat, where } = explain(code);
  return `${code}
${'='.repeat(code.length)}

${title}.
${status && `${status}\n`}
What to do
    ${remedy}

May the same request be sent again?
    ${mayRepeat}

${where}
`;
}

import { STATUS_CODES } from 'node:http';
import { statusOf } from '#edge';
import { errorCases, type ErrorCode, type ErrorKind } from '#model';

/** May the same request be sent again? */
const again: Partial<Record<ErrorKind, string>> = {
  over_rate: 'Yes, once the seconds that the Retry-After header names have passed.',
  unavailable:
    'Yes, once the seconds that the Retry-After header names have passed. Points that have timestamps can be sent as often as you like: each is stored once.',
  internal: 'Yes. If it happens every time, tell the operator the request_id.',
};
const notAgain = 'No: the answer would be the same until something changes.';

/** What an error code means and what to do about it, as plain text. */
export function errorPage(code: ErrorCode): string {
  const { kind, title, remedy } = errorCases[code];
  const status = statusOf[kind];
  return `${code}
${'='.repeat(code.length)}

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

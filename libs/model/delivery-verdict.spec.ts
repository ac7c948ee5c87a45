import { describe, expect, it } from '@jest/globals';
import { httpVerdict, mailVerdict } from './delivery-verdict.js';

describe('the answer of a target', () => {
  it.each([
    ['taken', [200, 201, 202, 204]],
    ['later', [100, 408, 409, 421, 423, 425, 429, 500, 501, 502, 503, 504, 507, 520, 599, 600]],
    ['misplaced', [300, 301, 302, 303, 304, 307, 308, 401, 402, 403, 404, 405, 407]],
    ['refused', [400, 406, 411, 412, 413, 414, 415, 417, 418, 422, 426, 428, 431, 451, 499]],
    ['gone', [410]],
  ] as const)('is %s for the statuses %j', (verdict, statuses) => {
    expect(statuses.map(httpVerdict)).toEqual(statuses.map(() => verdict));
  });

  it.each([
    [421, true, 'later'],
    [450, true, 'later'],
    [452, true, 'later'],
    [550, true, 'refused'],
    [552, true, 'refused'],
    [554, true, 'refused'],
    [535, false, 'later'],
    [554, false, 'later'],
  ] as const)('is by SMTP, for %d and a reply to the mail: %j, %s', (status, isOfMail, verdict) => {
    expect(mailVerdict(status, isOfMail)).toBe(verdict);
  });
});

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { pino } from 'pino';
import type { Answered } from '#edge';
import { TelemetryError, type ErrorCode } from '#model';
import { RequestLog } from './request-log.js';

type Line = Readonly<Record<string, unknown>>;

const request: Answered = {
  requestId: 'r',
  method: 'POST',
  route: '/ingest',
  status: 200,
  durationMs: 1.234,
  complete: true,
  address: '10.0.0.1',
};
const refused = (code: ErrorCode, status: number, of: Partial<Answered> = {}): Answered => ({
  ...request,
  status,
  failure: new TelemetryError(code, 'No.'),
  ...of,
});

/** The lines that these answers leave, with those that are due when the log ends. */
function linesOf(answers: readonly Answered[], { level = 'info', everyMs = 0 } = {}): readonly Line[] {
  const lines: Line[] = [];
  const logger = pino({ level, base: null, timestamp: false }, { write: (line: string) => void lines.push(JSON.parse(line) as Line) });
  const log = new RequestLog(logger);
  for (const one of answers) {
    log.add(one);
    jest.advanceTimersByTime(everyMs);
  }
  log.stop();
  return lines;
}

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const times = (n: number, of: (at: number) => Answered): readonly Answered[] => Array.from({ length: n }, (_, at) => of(at));

describe('the log of requests', () => {
  it('names the key of a success, and not who has sent it', () => {
    const [line] = linesOf([{ ...request, method: 'GET', route: '/v1/sources', orgId: 'o', keyId: 'key_1' }]);
    expect(line).toMatchObject({ org_id: 'o', key_id: 'key_1', status: 200, ms: 1.23, msg: 'GET /v1/sources 200' });
    expect(line).not.toHaveProperty('client');
  });

  it('names the address of a refusal, the key where it is known, and the cause of an outage', () => {
    const away = new TelemetryError('log_unavailable', 'The log cannot be written now.', { cause: new Error('the disk is full') });
    expect(
      linesOf([refused('invalid_points', 400, { orgId: 'o', keyId: 'key_1' }), refused('log_unavailable', 503, { failure: away })]),
    ).toEqual([
      expect.objectContaining({ level: 30, code: 'invalid_points', client: '10.0.0.1', org_id: 'o', key_id: 'key_1' }),
      expect.objectContaining({ level: 40, code: 'log_unavailable', client: '10.0.0.1', cause: 'the disk is full' }),
    ]);
  });

  it('has one line with their number for the bad keys of a minute, on all routes and from all addresses', () => {
    const badKey = (at: number): Answered =>
      refused(at % 9 < 4 ? 'invalid_key' : 'too_many_failed_keys', at % 9 < 4 ? 401 : 429, {
        route: at % 2 ? '/ingest' : '/v1/sources',
        address: `10.0.0.${at % 3}`,
      });
    expect(linesOf(times(9_000, badKey), { everyMs: 6 })).toEqual([
      { level: 40, code: 'invalid_key', refused: 9_000, clients: 3, client: '10.0.0.0', msg: '9000: requests without a valid key' },
    ]);
  });

  it('has a line a minute for bad keys that do not end, and for a lone one a line with its request after seconds', () => {
    const badKey = refused('invalid_key', 401);
    expect(linesOf([...times(18_000, () => badKey), badKey], { everyMs: 10 }).map(({ refused: count }) => count)).toEqual([
      6_000, 6_000, 6_000, 1,
    ]);
    expect(linesOf([badKey, request, refused('over_rate', 429)], { everyMs: 4_000 })).toEqual([
      expect.objectContaining({ request_id: 'r', code: 'invalid_key', client: '10.0.0.1', msg: 'POST /ingest 401' }),
      expect.objectContaining({ code: 'over_rate' }),
    ]);
  });

  it('counts an outage as one, and the refusals of each organization apart', () => {
    const lines = linesOf([
      ...times(100, (at) => refused('log_unavailable', 503, { orgId: `o${at}` })),
      ...times(10, (at) => refused('over_rate', 429, { orgId: `o${at % 2}` })),
    ]);
    expect(lines.map(({ code, org_id, refused: count }) => [code, org_id, count])).toEqual([
      ['log_unavailable', 'o0', undefined],
      ['over_rate', 'o0', undefined],
      ['over_rate', 'o1', undefined],
      ['log_unavailable', undefined, 99],
      ['over_rate', 'o0', 4],
      ['over_rate', 'o1', 4],
    ]);
  });

  it('holds a bounded number of kinds', () => {
    const lines = linesOf(times(5_000, (at) => refused('over_rate', 429, { orgId: `o${at}` })));
    expect([lines.length, lines.at(-1)]).toEqual([1_002, expect.objectContaining({ refused: 3_999 })]);
  });

  it('keeps frequent routes to level debug, where every refusal has its line too', () => {
    expect(linesOf([request, request])).toEqual([]);
    expect(linesOf([request, ...times(3, () => refused('over_rate', 429))], { level: 'debug' }).length).toBe(5);
  });

  it('tells of every error of our own', () => {
    expect(linesOf(times(3, () => refused('internal', 500))).map(({ level }) => level)).toEqual([50, 50, 50]);
  });
});

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { send } from '../http/send.js';
import { password, Town } from './town.js';

const minute = 60_000;
const startMs = Date.parse('2026-01-31T12:00:00Z');
let town: Town;
let cookie = '';

beforeAll(async () => {
  town = await Town.open();
  const points = Array.from({ length: 60 }, (_, at) => ({
    metric: 'step',
    class: 'event',
    value: `n${at}`,
    timestamp: startMs + at * minute,
  }));
  await town.send({ source_id: 'past', points });
  const answer = await send(town.url, {
    method: 'POST',
    path: '/sign-in',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ email: 'vic@example.com', password }).toString(),
  });
  cookie = answer.headers['set-cookie']!.split(';', 1)[0]!;
});
afterAll(() => town?.close());

const shown = async (query: string): Promise<{ names: string[]; isCut: boolean }> => {
  const { text } = await send(town.url, { path: `/sources/${query}`, headers: { cookie } });
  const names = Array.from(text.matchAll(/<code>(?:"|&quot;)?(n\d+|firmware|\{)/g), ([, name]) => name!);
  return { names, isCut: text.includes('The last 50 of this window.') };
};
const down = (from: number, to: number): string[] => Array.from({ length: from - to + 1 }, (_, at) => `n${from - at}`);

it.each([
  ['of a window that is over, the newest of it', 'past?last=1h&end=2026-01-31T12:55:00Z', down(54, 5), true],
  ['of a part of it', 'past?last=1h&end=2026-01-31T12:03:00Z', down(2, 0), false],
  ['of a window that goes up to now', 'press-7?last=24h', ['{', 'firmware'], false],
])('the page of a source shows events newest first: %s', async (_, query, names, isCut) => {
  expect(await shown(query)).toEqual({ names, isCut });
});

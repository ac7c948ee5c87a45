import { setTimeout as pause } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { eventually } from '../eventually.js';
import type { Link } from '../link.js';
import { Random } from '../random.js';
import { until } from '../until.js';
import type { ToldClient } from './told-client.js';

/** Where a client is tried. */
export interface ClientGround {
  /** Its way to the server. */
  readonly link: Link;
  readonly key: string;
  /** Kills the server or a part of it, and starts that again. */
  readonly crash: () => Promise<void>;
  /** Resolves when what was accepted can be read. */
  readonly settle: () => Promise<void>;
}

/** What the client is told of the server. */
export const serverOf = ({ link, key }: ClientGround): { url: string; apiKey: string; beginMs: number } => ({
  url: `http://127.0.0.1:${link.port}`,
  apiKey: key,
  beginMs: Date.now() - 60_000,
});

export const upTo = (end: number): number[] => Array.from({ length: end }, (_, number) => number);

/** Has numbers handed over while connections end, fall silent and are slow, and while the server is killed. How many. */
async function storm(client: ToldClient, { link, crash }: ClientGround): Promise<number> {
  const random = new Random(1);
  let numbers = 0;
  for (let turn = 0; turn < 60; turn++) {
    const some = random.whole(1, 30);
    await client.tell('handOver', some);
    numbers += some;
    const fate = random.whole(0, 9);
    if (turn === 20) await client.tell('handOverBad');
    if (turn === 40) await crash();
    else if (fate === 0) link.cut();
    else if (fate === 1) link.holdAnswers();
    const goOn = fate === 2 ? link.delayAnswers() : undefined;
    await pause(random.whole(0, 40));
    goOn?.();
  }
  link.cut();
  return numbers;
}

interface Streamed {
  readonly numbers: readonly number[];
  /** Gaps, and why the stream has ended. */
  readonly others: readonly string[];
  readonly retries: number;
}

/**
 * Has a client be a device with a connection and one without, a reader, and whoever sends a command, while much breaks. In the end everything is
 * stored and read once, and the command was carried out once.
 */
export async function clientStory(id: string, client: ToldClient, ground: ClientGround): Promise<void> {
  const { link, settle } = ground;
  const [connected, plain] = [`${id}-connected`, `${id}-plain`];
  await client.tell('begin', serverOf(ground));
  await client.tell('open', { sourceId: connected, connects: true });
  await client.tell('open', { sourceId: plain });
  await client.tell('stream', connected);

  const turned = client.tell('turn', { sourceId: connected, by: 90 });
  const isAcknowledged = async (): Promise<boolean> => (await client.tell('acknowledged')) === 1;
  // A command that is refused ends here, with its reason.
  await Promise.race([turned, until('it is known that the device has the command', isAcknowledged)]);
  link.cut();
  await client.tell('endTurn');
  expect(await turned).toEqual({ id: expect.any(String), result: { by: 90 } });

  const numbers = await storm(client, ground);
  await client.tell('flush');
  const ended = { handedOver: 3 * numbers + 1, stored: 3 * numbers, bad: 1, dropped: 0, buffered: { points: 0, bytes: 0 } };
  expect(await client.tell('stats')).toEqual([ended, ended]);
  const bad = { name: 'bad\0', value: expect.any(Number), code: 'invalid_points' };
  const refused = (await client.tell('refused')) as { readonly sourceId: string }[];
  expect(refused.sort((one, other) => one.sourceId.localeCompare(other.sourceId))).toEqual([
    { sourceId: connected, ...bad },
    { sourceId: plain, ...bad },
  ]);
  expect(await client.tell('turns')).toBe(1);

  await settle();
  const all = upTo(numbers);
  const stored = { numbers: all, misplaced: [], latest: numbers - 1, ticks: 2 * numbers };
  const outcomes = [{ event: 'ack' }, { event: 'result', result: { by: 90 } }];
  expect(await client.tell('read', connected)).toEqual({ ...stored, outcomes });
  expect(await client.tell('read', plain)).toEqual({ ...stored, outcomes: [] });
  // A point that the device has sent again stands in the log twice, so the stream may bring it twice.
  await eventually(async () => {
    const { numbers: streamed, others: rest, retries } = (await client.tell('streamed')) as Streamed;
    expect([...new Set(streamed)].sort((one, other) => one - other)).toEqual(all);
    expect(rest).toEqual([]);
    expect(retries).toBeGreaterThan(0);
  });
  await client.tell('close');
}

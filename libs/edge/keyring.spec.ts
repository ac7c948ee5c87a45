import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LogGap, LogViews, tombstone, type FollowOptions, type Following, type StreamRecord } from '#log';
import type { ApiKey, Caller } from '#model';
import { makeKey, MemoryLog } from '#testing';
import { apiKeys, organizations } from '#topics';
import { Keyring } from './keyring.js';

let log: MemoryLog;
let keyring: Keyring;
beforeEach(() => {
  log = new MemoryLog();
  keyring = new Keyring(log);
});

const create = async (orgId: string): Promise<string> => (await makeKey(log, orgId)).key.keyId;
const end = (keyId: string): Promise<void> => log.append([tombstone(apiKeys, keyId)]);
const listed = (orgId: string): string[] => keyring.list(orgId).map(({ keyId }) => keyId);

describe('the list of an organization', () => {
  it('follows its keys, oldest first', async () => {
    const [first, second] = [await create('a'), await create('a')];
    const foreign = await create('b');
    expect([listed('a'), listed('b'), listed('c')]).toEqual([[first, second], [foreign], []]);
    const third = await create('a');
    await end(first);
    expect([listed('a'), listed('b')]).toEqual([[second, third], [foreign]]);
    await end(foreign);
    expect(listed('b')).toEqual([]);
  });

  it('is read without a look at the keys of others', async () => {
    const scan = jest.spyOn(log.open(apiKeys), 'scan');
    const key = await create('a');
    await create('b');
    for (let time = 0; time < 3; time++) expect(listed('a')).toEqual([key]);
    expect(scan).toHaveBeenCalledTimes(1);
  });
});

describe('the bearer of a key that is revoked', () => {
  const told = async (): Promise<void> => new Promise(setImmediate);

  it('hears of it once, and nobody else does', async () => {
    const bearer = async (orgId: string): Promise<Caller> => keyring.verify((await makeKey(log, orgId)).secret)!;
    const [caller, other] = [await bearer('a'), await bearer('a')];
    const heard: string[] = [];
    keyring.revoked(caller, () => heard.push('first'));
    keyring.revoked(caller, () => heard.push('second'));
    keyring.revoked(other, () => heard.push('other'));
    keyring.revoked(caller, () => heard.push('gone'))();
    await create('a');
    await told();
    expect(heard).toEqual([]);
    await end(caller.keyId);
    await told();
    expect(heard).toEqual(['first', 'second']);
    keyring.revoked(caller, () => heard.push('late'));
    await told();
    expect(heard).toEqual(['first', 'second', 'late']);
  });

  it.each([
    ['without the key', undefined, 1],
    ['with a key of fewer rights', { scopes: [] }, 1],
    ['with a key of fewer sources', { sources: ['a*'] }, 1],
    ['with a key of another organization', { orgId: 'b' }, 1],
    ['as it was', {}, 0],
  ])('hears of it when the log is read again after a gap, %s', async (_, change, times) => {
    const { key, secret } = await makeKey(log, 'a', ['read', 'write']);
    const readings: FollowOptions[] = [];
    const follow = (options: FollowOptions): Following => {
      readings.push(options);
      return { caughtUp: () => Promise.resolve(), ageMs: () => 0, lag: () => 0, positions: () => [], stop: () => Promise.resolve() };
    };
    const give = (offset: number, value: ApiKey): void => {
      const record = { topic: apiKeys, partition: 0, offset, key: key.keyId, value } as unknown as StreamRecord;
      void readings.at(-1)!.take([record]);
    };
    const views = new LogViews({ follow }, [apiKeys, organizations]);
    views.open(organizations);
    const view = views.open(apiKeys);
    give(0, key);
    await view.ready;
    const follower = new Keyring(views);
    const listener = jest.fn();
    follower.revoked(follower.verify(secret)!, listener);
    readings.at(-1)!.stopped(new LogGap('too long'));
    if (change) give(Object.keys(change).length > 0 ? 1 : 0, { ...key, ...change });
    await view.caughtUp();
    await told();
    expect(listener).toHaveBeenCalledTimes(times);
  });
});

import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { tombstone } from '#log';
import { TelemetryError, type Caller, type KeyUse } from '#model';
import { makeKey, MemoryLog } from '#testing';
import { apiKeys, keyUses } from '#topics';
import { KeyUses } from './key-uses.js';
import { Keyring } from './keyring.js';

const startMs = Date.UTC(2026, 0, 1);
let log: MemoryLog;
let nowMs: number;
let uses: KeyUses;
beforeEach(() => {
  log = new MemoryLog();
  nowMs = startMs;
  log.open(keyUses);
  uses = new KeyUses(log, log, () => nowMs);
});
afterEach(() => uses.onApplicationShutdown());

const bearer = async (): Promise<Caller> => new Keyring(log).verify((await makeKey(log, 'o')).secret)!;
const shown = ({ keyId }: Caller): KeyUse | undefined => log.open(keyUses).get(keyId);

describe('the uses of a key', () => {
  it('within a minute are one write, of the last address', async () => {
    const [caller, other] = [await bearer(), await bearer()];
    const append = jest.spyOn(log, 'append');
    for (let request = 0; request < 1000; request++) uses.note(caller, `192.0.2.${request % 10}`);
    expect(append).not.toHaveBeenCalled();
    nowMs += 60_000;
    await uses.write();
    expect(shown(caller)).toEqual({ keyId: caller.keyId, usedMs: startMs, address: '192.0.2.9' });
    expect(shown(other)).toBeUndefined();
    await uses.write();
    expect(append).toHaveBeenCalledTimes(1);
    uses.note(caller, undefined);
    await uses.write();
    expect(shown(caller)).toEqual({ keyId: caller.keyId, usedMs: startMs + 60_000, address: '' });
  });

  it('go on for as long as something stays open that began with it', async () => {
    const caller = await bearer();
    const end = uses.noteUntil(caller, '192.0.2.1');
    await uses.write();
    nowMs += 60_000;
    await uses.write();
    expect(shown(caller)).toEqual({ keyId: caller.keyId, usedMs: startMs, address: '192.0.2.1' });
    await uses.write();
    expect(shown(caller)).toMatchObject({ usedMs: startMs + 60_000 });
    end();
    nowMs += 60_000;
    await uses.write();
    await uses.write();
    expect(shown(caller)).toMatchObject({ usedMs: startMs + 60_000 });
  });

  it('are not written once it is deleted', async () => {
    const caller = await bearer();
    uses.note(caller, '192.0.2.1');
    await log.append([tombstone(apiKeys, caller.keyId)]);
    await uses.write();
    expect(shown(caller)).toBeUndefined();
  });

  it('that cannot be written are forgotten, and nothing fails', async () => {
    const caller = await bearer();
    uses.note(caller, '192.0.2.1');
    jest.spyOn(log, 'append').mockRejectedValueOnce(new TelemetryError('log_unavailable', 'The log is away.'));
    await uses.write();
    expect(shown(caller)).toBeUndefined();
    uses.note(caller, '192.0.2.2');
    await uses.write();
    expect(shown(caller)).toMatchObject({ address: '192.0.2.2' });
  });

  it('are noted of 10,000 keys in a minute, and of more in the next', async () => {
    const caller = await bearer();
    for (let at = 0; at < 10_000; at++) uses.note({ ...caller, keyId: `key_${at}` }, '192.0.2.1');
    uses.note(caller, '192.0.2.1');
    await uses.write();
    expect(shown(caller)).toBeUndefined();
    uses.note(caller, '192.0.2.1');
    await uses.write();
    expect(shown(caller)).toBeDefined();
  });
});

import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Commands, deciderOf, KeyCommands, Keyring, newKey, type WantedKey } from '#edge';
import { entry, Runner, tombstone } from '#log';
import { maxBoundSources, scopes, type ApiKey, type Scope } from '#model';
import { apiKeys, keysGroup, keyUses } from '#topics';
import { makeKey } from './make-keys.js';
import type { LogUnderTest } from './record-log.contract.js';

/** As much as a key may have. */
const longest = Array.from({ length: maxBoundSources }, (_, at) => `${String(at).padStart(2, '0')}${'a'.repeat(254)}*`);
const wanted = (its: readonly Scope[]): Omit<WantedKey, 'createdBy'> => ({ name: 'k', scopes: its });
const by = { id: 'k'.repeat(28), name: '\u{1f511}'.repeat(100) };

/** What `KeyCommands` and the group `keys` promise together, on the log of an adapter. See `decisionsContract` for what all areas promise. */
export function keysContract(open: () => Promise<LogUnderTest>): void {
  let subject: LogUnderTest;
  let keyring: Keyring;
  let commands: KeyCommands;
  let runner: Runner;
  const commandsOf = (): KeyCommands => new KeyCommands(new Commands(subject.views, subject.log, Date.now), Date.now);
  beforeEach(async () => {
    subject = await open();
    keyring = new Keyring(subject.views);
    commands = commandsOf();
    await keyring.ready;
    runner = new Runner(subject.log, deciderOf(keysGroup, subject.log, subject.views, Date.now), {
      checkpointMs: 1e6,
      tickMs: 50,
      report: () => {},
    });
  });
  afterEach(async () => {
    await runner.stop();
    await subject.close();
  });

  const first = (): ApiKey => newKey('o', { name: 'first', scopes, createdBy: '' }, Date.now()).key;
  const listed = (): string[] => keyring.list('o').map(({ keyId }) => keyId);

  it('of two callers at once one makes the first key, and both make any other one', async () => {
    await runner.start();
    const others = commandsOf();
    const made = await Promise.all([commands.createFirst(first()), others.createFirst(first())]);
    expect(made.filter(Boolean)).toEqual([true]);
    expect(listed()).toHaveLength(1);
    const both = await Promise.all([commands, others].map((each) => each.create('o', wanted(['write']), by)));
    expect(both.map(({ secret }) => keyring.verify(secret)?.scopes)).toEqual([['write'], ['write']]);
    expect(listed()).toHaveLength(3);
  });

  it('many callers at once are all served', async () => {
    const asked = Promise.all(
      Array.from({ length: 100 }, () => commands.create('o', { name: by.name, scopes: ['read', 'write'], sources: longest }, by)),
    );
    await runner.start();
    const made = await asked;
    expect(runner.figures()).toMatchObject({ failures: 0, parked: 0 });
    expect(listed().toSorted()).toEqual(made.map(({ key }) => key.keyId).toSorted());
    expect(new Set(made.map(({ key }) => key.createdBy))).toEqual(new Set([by.id]));
  });

  it('a key is deleted once, and only by its organization', async () => {
    await runner.start();
    const { key } = await commands.create('o', wanted(scopes), by);
    expect(await commands.delete('p', key.keyId, by)).toBe(false);
    const uses = subject.views.open(keyUses);
    await subject.log.append([entry(keyUses, { keyId: key.keyId, usedMs: 1, address: '' })]);
    const both = await Promise.all([commands.delete('o', key.keyId, by), commands.delete('o', key.keyId, by)]);
    expect([both.filter(Boolean), listed()]).toEqual([[true], []]);
    expect(await uses.until(key.keyId, (one) => one === undefined, 30_000)).toBeUndefined();
  });

  it('keys of a log without commands are known, and so is their end', async () => {
    const { key } = await makeKey(subject.log, 'o');
    await runner.start();
    expect(await commands.createFirst(first())).toBe(false);
    await subject.log.append([tombstone(apiKeys, key.keyId)]);
    expect(await commands.createFirst(first())).toBe(true);
    const { key: other } = await makeKey(subject.log, 'o');
    expect(await commands.delete('o', other.keyId, by)).toBe(true);
  });
}

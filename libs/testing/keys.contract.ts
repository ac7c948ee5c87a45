import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { KeyCommands, KeyDecider, Keyring, newKey } from '#edge';
import { deliver, entry, LogViews, Runner, tombstone, type RecordLog } from '#log';
import { forever, maxCommandMs, scopes, TelemetryError, type ApiKey, type KeyCommand, type Lease } from '#model';
import { apiKeys, keyCommands, keyDecisions } from '#topics';
import { makeKey } from './make-keys.js';
import type { LogUnderTest } from './record-log.contract.js';
import { until } from './until.js';
import { withMethods } from './with-methods.js';

const late = { code: 'log_unavailable', retryAfterS: 1 };
const unavailable = (): TelemetryError => new TelemetryError('log_unavailable', 'The log is away.');

/** What `KeyCommands` and `KeyDecider` promise together, on the log of an adapter. */
export function keysContract(open: () => Promise<LogUnderTest>): void {
  let subject: LogUnderTest;
  let keyring: Keyring;
  let commands: KeyCommands;
  let runners: Runner[];
  /** Every change of a key that the view has told of, in order: the id of one that was made, null for an end. */
  let changes: (string | null)[];
  const use = async (next: LogUnderTest): Promise<void> => {
    subject = next;
    runners = [];
    keyring = new Keyring(subject.views);
    commands = new KeyCommands(subject.views, subject.log, Date.now);
    await keyring.ready;
    subject.views.open(apiKeys).changes(({ key, value }) => changes.push(value && key));
  };
  beforeEach(async () => {
    changes = [];
    await use(await open());
  });
  afterEach(async () => {
    await Promise.all(runners.map((runner) => runner.stop()));
    await subject.close();
  });

  const decide = async (log = subject.log, its = keyring): Promise<Runner> => {
    const runner = new Runner(log, new KeyDecider(log, its, Date.now), { checkpointMs: 1e6, tickMs: 50, report: () => {} });
    runners.push(runner);
    await runner.start();
    return runner;
  };
  const first = (): ApiKey => newKey('o', 'first', scopes, Date.now()).key;
  const listed = (): string[] => keyring.list('o').map(({ keyId }) => keyId);
  const asking = (key: ApiKey, id: string, askedMs = Date.now()): KeyCommand => ({
    orgId: 'o',
    id,
    askedMs,
    keyId: key.keyId,
    does: 'create',
    key,
  });
  /** A log in which the outputs of decisions cannot be appended, while the decisions can. */
  const withoutOutputs = (): RecordLog =>
    withMethods(subject.log, {
      append: (entries) =>
        entries.some(({ topic }) => topic.name === apiKeys.name) ? Promise.reject(unavailable()) : subject.log.append(entries),
      appendBytes: () => Promise.reject(unavailable()),
    });
  const decided = (id: string): Promise<unknown> =>
    subject.views.open(keyDecisions).until('o', (state) => state?.decided.some((one) => one.id === id) ?? false, 30_000);

  it('of two callers at once one makes the first key, and both make any other one', async () => {
    await decide();
    const others = new KeyCommands(subject.views, subject.log, Date.now);
    const made = await Promise.all([commands.createFirst(first()), others.createFirst(first())]);
    expect(made.filter(Boolean)).toEqual([true]);
    expect(listed()).toHaveLength(1);
    const both = await Promise.all([commands, others].map((each) => each.create('o', 'k', ['write'])));
    expect(both.map(({ secret }) => keyring.verify(secret)?.scopes)).toEqual([['write'], ['write']]);
    expect(listed()).toHaveLength(3);
  });

  it('many callers at once are all served', async () => {
    const asked = Promise.all(Array.from({ length: 200 }, () => commands.create('o', 'k'.repeat(100), scopes)));
    const decider = await decide();
    const made = await asked;
    expect(decider.figures()).toMatchObject({ failures: 0, parked: 0 });
    expect(listed().toSorted()).toEqual(made.map(({ key }) => key.keyId).toSorted());
  });

  it('a key is deleted once, and only by its organization', async () => {
    await decide();
    const { key } = await commands.create('o', 'k', scopes);
    expect(await commands.delete('p', key.keyId)).toBe(false);
    const both = await Promise.all([commands.delete('o', key.keyId), commands.delete('o', key.keyId)]);
    expect([both.filter(Boolean), listed()]).toEqual([[true], []]);
  });

  it('keys of a log without commands are known, and so is their end', async () => {
    const { key } = await makeKey(subject.log, 'o');
    await decide();
    expect(await commands.createFirst(first())).toBe(false);
    await subject.log.append([tombstone(apiKeys, key.keyId)]);
    expect(await commands.createFirst(first())).toBe(true);
    const { key: other } = await makeKey(subject.log, 'o');
    expect(await commands.delete('o', other.keyId)).toBe(true);
  });

  it('nothing is decided on keys that are not all known yet', async () => {
    let gate = Promise.resolve();
    const follow: RecordLog['follow'] = ({ take, ...options }) =>
      subject.log.follow({ ...options, take: (records) => gate.then(() => take(records)) });
    const behind = new Keyring(new LogViews({ follow }, [apiKeys]));
    await behind.ready;
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    await makeKey(subject.log, 'o');
    const caughtUp = (): Promise<void> => {
      resolve();
      return behind.caughtUp();
    };
    await decide(subject.log, withMethods(behind, { caughtUp }));
    expect(await commands.createFirst(first()).finally(resolve)).toBe(false);
  });

  it('while nobody decides callers are told so in time, and nothing is made or deleted of it later', async () => {
    const { key } = await makeKey(subject.log, 'o');
    const startMs = performance.now();
    const asked = [commands.create('o', 'k', scopes), commands.delete('o', key.keyId), commands.createFirst({ ...first(), orgId: 'p' })];
    for (const { reason } of (await Promise.allSettled(asked)) as PromiseRejectedResult[]) expect(reason).toMatchObject(late);
    expect(performance.now() - startMs).toBeLessThan(maxCommandMs + 2_000);
    await (await decide()).caughtUp();
    const next = await commands.create('o', 'k', scopes);
    expect([listed(), keyring.list('p')]).toEqual([[key.keyId, next.key.keyId], []]);
  });

  it('a command that comes again has no second effect, nor one after a crash', async () => {
    await decide();
    const { key } = newKey('o', 'k', scopes, 1);
    const command = entry(keyCommands, asking(key, 'c1'));
    await subject.log.append([command, command]);
    await decided('c1');
    await until('the key is there', () => listed().length > 0);
    expect(await commands.delete('o', key.keyId)).toBe(true);
    await use(await subject.crash());
    await subject.log.append([command]);
    await (await decide()).caughtUp();
    await keyring.caughtUp();
    // Its end may be appended again, as it was decided.
    expect([changes.filter((id) => id !== null), listed()]).toEqual([[key.keyId], []]);
  });

  it.each(['made', 'deleted'])('a key whose decision a crash parts from its effect is %s by whoever decides next', async (what) => {
    const { key } = newKey('o', 'k', scopes, 1);
    if (what === 'deleted') await subject.log.append([entry(apiKeys, key)]);
    await decide(withoutOutputs());
    const command = asking(key, 'c1');
    await subject.log.append([entry(keyCommands, what === 'made' ? command : { ...command, does: 'delete', key: null })]);
    await decided('c1');
    await use(await subject.crash());
    expect(listed()).toEqual(what === 'made' ? [] : [key.keyId]);
    await decide();
    await until('it has its effect', () => listed().length === (what === 'made' ? 1 : 0));
  });

  it('what was given under a lease that is lost is left to who has the next', async () => {
    const decider = new KeyDecider(subject.log, keyring, Date.now);
    await decider.table.begin(forever, [0]);
    const value = asking(newKey('o', 'k', scopes, 1).key, 'c1');
    const record = { topic: keyCommands, partition: 0, offset: 0, key: 'o', value, appendedMs: 1, headers: {}, bytes: 1 };
    await deliver(decider, [record], { held: () => false });
    expect(decider.table.get('o')).toBeUndefined();
    await deliver(decider, [record], forever);
    expect(decider.table.get('o')).toMatchObject({ decided: [{ id: 'c1', outcome: 'created' }] });
  });

  it('what is decided under a lost lease has no effect, and is decided by who has the next', async () => {
    let held = true;
    const lease: Lease = { held: () => held };
    const losing = withMethods(subject.log, {
      consume: ({ handler, given, ...options }) =>
        subject.log.consume({ ...options, given: (_, its) => given?.(lease, its), handler: (records) => handler(records, lease) }),
      append: (entries) =>
        entries.some(({ topic }) => topic.name === keyDecisions.name) ? Promise.reject(unavailable()) : Promise.resolve(),
    });
    const loser = await decide(losing);
    const { key } = newKey('o', 'k', scopes, 1);
    await subject.log.append([entry(keyCommands, asking(key, 'c1'))]);
    await until('it cannot write its decision', () => loser.figures().failures > 0);
    held = false;
    await use(await subject.crash());
    expect(changes).toEqual([]);
    await decide();
    await until('the key is there', () => listed().length > 0);
    expect(changes).toEqual([key.keyId]);
  });
}

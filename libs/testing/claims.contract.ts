import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Accounts, Commands, deciders, KeyCommands, Keyring, PublicUrl, Readiness, Sessions, Visitors } from '#edge';
import { entry, LogViews, Runner, tombstone, type Entry, type RecordLog, type Views } from '#log';
import { maxBoundSources, membershipKey, TelemetryError, type Account, type Person } from '#model';
import { accounts, apiKeys, claims, decisionsGroup, keysGroup, memberships, outcomes, sessions, sessionUses } from '#topics';
import { Claims, type PolledClaim } from '../../apps/control/claims/claims.js';
import { WrongCodes } from '../../apps/control/claims/wrong-codes.js';
import { makeMember } from './make-people.js';
import type { LogUnderTest } from './record-log.contract.js';
import { withMethods } from './with-methods.js';

/** What `Claims` follows in a process of its own. */
const followed = [accounts, apiKeys, claims, memberships, outcomes, sessions, sessionUses];
const person: Person = { accountId: 'ada', email: 'ada@example.com', sessionId: 's' };
const account: Account = { accountId: 'ada', email: person.email, passwordDigest: '', createdMs: 1, reset: null, identity: null };
const pump = { name: 'pump', address: '10.0.0.1', scopes: ['write'], sources: ['*'] } as const;
/** As much as a claim may ask for. */
const longest = {
  name: '\u{1f511}'.repeat(100),
  address: 'f'.repeat(40),
  scopes: ['read', 'write'],
  sources: Array.from({ length: maxBoundSources }, (_, at) => `${String(at).padStart(2, '0')}${'a'.repeat(254)}*`),
} as const;

interface Replica {
  readonly views: Views;
  readonly claims: Claims;
  readonly keyring: Keyring;
}

/** One of the processes of the role control: it knows what it has read, and counts for itself. */
async function replicaOn(log: RecordLog, clock: () => number): Promise<Replica> {
  const views: Views = new LogViews(log, followed);
  const commands = new Commands(views, log, clock);
  const readiness = new Readiness();
  const its = new Accounts(views);
  const url = new PublicUrl('https://telemetry.example.com');
  const visitors = new Visitors(its, new Sessions(views, log, clock, its), url, readiness);
  const wrong = new WrongCodes(clock);
  const replica = new Claims(views, clock, commands, new KeyCommands(commands, clock), its, visitors, wrong, url, readiness);
  const keyring = new Keyring(views);
  await Promise.all([keyring.ready, its.ready, readiness.opened()]);
  return { views, claims: replica, keyring };
}

/**
 * What any number of replicas of the role control and the processes that decide promise together of a claim, on the log of an adapter.
 *
 * @param crashes whether to crash between any two steps, where another process takes over at once.
 */
export function claimsContract(open: () => Promise<LogUnderTest>, crashes = false): void {
  let subject: LogUnderTest;
  let runners: Runner[] = [];
  const decide = async (log: RecordLog = subject.log): Promise<void> => {
    const its = deciders(log, subject.views, Date.now).filter(({ group }) => group === decisionsGroup || group === keysGroup);
    const started = its.map((one) => new Runner(log, one, { checkpointMs: 1e6, tickMs: 50, report: () => {} }));
    runners.push(...started);
    await Promise.all(started.map((runner) => runner.start()));
  };
  const stop = async (): Promise<void> => {
    await Promise.all(runners.map((runner) => runner.stop()));
    runners = [];
  };
  const replicas = (count: number, log: RecordLog = subject.log): Promise<Replica[]> =>
    Promise.all(Array.from({ length: count }, () => replicaOn(log, Date.now)));
  const caughtUp = (): Promise<unknown> => Promise.all([subject.views.open(claims).caughtUp(), subject.views.open(apiKeys).caughtUp()]);
  const keys = (): number => subject.views.open(apiKeys).size;
  const secretsOf = (polled: readonly PolledClaim[]): string[] => polled.flatMap((one) => ('apiKey' in one ? (one.apiKey ?? []) : []));

  beforeEach(async () => {
    subject = await open();
    await subject.log.append([entry(accounts, account)]);
    await makeMember(subject.log, 'o', account, 'member');
  });
  afterEach(async () => {
    await stop();
    await subject.close();
  });

  it('ten replicas that are polled at once hand out one key, which works at all of them', async () => {
    await decide();
    const ten = await replicas(10);
    const { deviceCode, userCode } = await ten[0]!.claims.start(pump);
    await ten[1]!.claims.approve(userCode, { person, address: undefined }, 'o', { sources: ['pump-*'] });
    await Promise.all(ten.map(({ views }) => views.open(claims).caughtUp()));
    const polled = await Promise.all(ten.map((replica) => replica.claims.poll(deviceCode)));
    expect(new Set(polled.map(({ status }) => status))).toEqual(new Set(['approved']));
    const [secret, ...more] = secretsOf(polled);
    expect(more).toEqual([]);
    for (const { keyring } of ten) {
      await keyring.caughtUp();
      expect(keyring.verify(secret!)).toMatchObject({ orgId: 'o', scopes: ['write'], bound: { patterns: ['pump-*'] } });
      expect(keyring.list('o')).toMatchObject([{ name: 'pump', createdBy: 'ada' }]);
    }
  });

  it('many that ask for as much as they may are all served', async () => {
    await decide();
    const [replica] = await replicas(1);
    const started = await Promise.all(
      Array.from({ length: 40 }, (_, at) => replica!.claims.start({ ...longest, address: `${longest.address.slice(0, -2)}${at}` })),
    );
    expect(new Set(started.map(({ userCode }) => userCode)).size).toBe(40);
    const approver = { person, address: undefined };
    await Promise.all(started.map(({ userCode }) => replica!.claims.approve(userCode, approver, 'o')));
    const polled = await Promise.all(started.map(({ deviceCode }) => replica!.claims.poll(deviceCode)));
    expect(new Set(secretsOf(polled)).size).toBe(40);
    for (const runner of runners) expect(runner.figures()).toMatchObject({ failures: 0, parked: 0 });
  });

  const gone: readonly (readonly [what: string, change: () => Entry])[] = [
    ['was removed', () => tombstone(memberships, membershipKey({ orgId: 'o', accountId: 'ada' }))],
    ['was made a viewer', () => entry(memberships, { orgId: 'o', accountId: 'ada', role: 'viewer', sinceMs: 1 })],
  ];
  it.each(gone)('whoever %s before the poll has approved nothing', async (_, change) => {
    await decide();
    const [replica] = await replicas(1);
    const { deviceCode, userCode } = await replica!.claims.start(pump);
    await replica!.claims.approve(userCode, { person, address: undefined }, 'o');
    await subject.log.append([change()]);
    await replica!.views.open(memberships).caughtUp();
    expect(await replica!.claims.poll(deviceCode)).toEqual({ status: 'denied' });
    await caughtUp();
    expect(keys()).toBe(0);
  });

  it('who may make no keys approves nothing, and the same approval may come twice', async () => {
    const bea: Person = { accountId: 'bea', email: 'bea@example.com', sessionId: 's' };
    await makeMember(subject.log, 'o', { ...account, accountId: 'bea' }, 'viewer');
    await makeMember(subject.log, 'p', account, 'owner');
    await decide();
    const [replica] = await replicas(1);
    const { deviceCode, userCode } = await replica!.claims.start(pump);
    const approve = (by: Person, orgId: string): Promise<void> =>
      replica!.claims.approve(userCode, { person: by, address: undefined }, orgId);
    await expect(approve(bea, 'o')).rejects.toMatchObject({ code: 'missing_role' });
    await expect(approve(bea, 'p')).rejects.toMatchObject({ code: 'no_organization' });
    expect(await replica!.claims.poll(deviceCode)).toEqual({ status: 'pending' });
    for (let times = 0; times < 2; times++) await approve(person, 'o');
    await expect(approve(person, 'p')).rejects.toMatchObject({ code: 'unknown_claim' });
    const [other] = await replicas(1);
    expect(await other!.claims.poll(deviceCode)).toMatchObject({ status: 'approved', orgId: 'o', apiKey: expect.any(String) });
    await expect(approve(person, 'o')).resolves.toBeUndefined();
  });

  if (!crashes) return;
  describe('a crash between any two steps', () => {
    /** Ends everything in the process at one of its appends and commits. */
    class Dying {
      steps = 0;
      isDead = false;
      readonly died = Promise.withResolvers<void>();
      constructor(private readonly last: number) {}

      step<T>(work: () => Promise<T>): Promise<T> {
        if (++this.steps === this.last) this.isDead = true;
        if (!this.isDead) return work();
        this.died.resolve();
        return Promise.reject(new TelemetryError('log_unavailable', 'The process dies.'));
      }
    }

    /** Starts, approves and polls in a process that dies at a step, and goes on in another one. Resolves with the secrets that were handed out. */
    async function courseOf(dying: Dying, verdict: 'approve' | 'deny'): Promise<readonly string[]> {
      const mortal = withMethods(subject.log, {
        append: (entries) => dying.step(() => subject.log.append(entries)),
        appendBytes: (...record) => dying.step(() => subject.log.appendBytes(...record)),
        consume: async (options) => {
          const subscription = await subject.log.consume(options);
          return withMethods(subscription, { commit: (positions) => dying.step(() => subscription.commit(positions)) });
        },
      });
      const secrets: string[] = [];
      let log: RecordLog = mortal;
      await decide(log);
      let [replica] = await replicas(1, log);
      /** Does one thing, and once more after a crash: nobody knows then how far it came. */
      const attempt = async <T>(work: (its: Claims) => Promise<T>): Promise<T | undefined> => {
        const attempted = work(replica!.claims).catch(() => undefined);
        if (log !== mortal) return attempted;
        const outcome = await Promise.race([attempted, dying.died.promise.then(() => dying)]);
        if (outcome !== dying) return outcome as T | undefined;
        const dead = runners;
        runners = [];
        await Promise.all(dead.map((runner) => runner.stop()));
        subject = await subject.crash();
        log = subject.log;
        await decide();
        [replica] = await replicas(1);
        return work(replica!.claims).catch(() => undefined);
      };
      const started = await attempt((its) => its.start(pump));
      if (!started) return secrets;
      const approver = { person, address: undefined };
      await attempt((its) => (verdict === 'approve' ? its.approve(started.userCode, approver, 'o') : its.deny(started.userCode, approver)));
      for (let polls = 0; polls < 3; polls++) {
        const polled = await attempt((its) => its.poll(started.deviceCode));
        if (polled) secrets.push(...secretsOf([polled]));
        // Another replica has not been polled yet.
        [replica] = await replicas(1, log);
      }
      return secrets;
    }

    it('hands out at most one key, and none that was denied', async () => {
      const whole = new Dying(Infinity);
      expect(await courseOf(whole, 'approve')).toHaveLength(1);
      expect(whole.steps).toBeGreaterThan(12);
      let handedOut = 0;
      for (let step = 1; step <= whole.steps; step++) {
        for (const verdict of step % 4 === 0 ? (['approve', 'deny'] as const) : (['approve'] as const)) {
          await stop();
          await subject.close();
          subject = await open();
          await subject.log.append([entry(accounts, account)]);
          await makeMember(subject.log, 'o', account, 'member');
          const secrets = await courseOf(new Dying(step), verdict);
          await caughtUp();
          expect({ step, verdict, isMore: secrets.length > (verdict === 'approve' ? 1 : 0), keys: keys() > 1 }).toEqual({
            step,
            verdict,
            isMore: false,
            keys: false,
          });
          handedOut += secrets.length;
        }
      }
      // Most crashes lose no key: whoever asks again gets it.
      expect(handedOut).toBeGreaterThan(whole.steps / 2);
    }, 120_000);
  });
}

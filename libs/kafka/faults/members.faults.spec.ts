import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { entry } from '#log';
import { describeOnOwnServers, LogConsumer, startOwnKafka, until, type OwnKafka } from '#testing';
import { sources } from '#topics';
import { endWithUs } from '../../../infra/servers/index.js';
import { openKafka, type KafkaOptions, type KafkaStorage } from '../open-kafka.js';

const sessionMs = 6_000;

interface Line {
  readonly what: 'joined' | 'took' | 'did' | 'dropped';
  readonly keys: readonly string[];
}

/** A member in a process of its own, which can be frozen and killed. */
class MemberProcess {
  readonly lines: Line[] = [];

  private constructor(readonly child: ChildProcess) {
    createInterface(child.stdout!).on('line', (line) => this.lines.push(JSON.parse(line) as Line));
  }

  static async join(options: KafkaOptions, holdMs: number): Promise<MemberProcess> {
    const file = new URL('./member-process.js', import.meta.url).pathname;
    const child = spawn(process.execPath, [file, JSON.stringify([options, holdMs])], { stdio: ['ignore', 'pipe', 'inherit'] });
    endWithUs(child);
    const member = new MemberProcess(child);
    await until('it has joined', () => member.lines.some(({ what }) => what === 'joined'));
    return member;
  }

  keys(what: Line['what']): Set<string> {
    return new Set(this.lines.filter((line) => line.what === what).flatMap((line) => line.keys));
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }
}

describeOnOwnServers('of two members of a group', () => {
  const keys = Array.from({ length: 60 }, (_, n) => `o/s${n}`);
  let own: OwnKafka;
  let options: KafkaOptions;
  let kafka: KafkaStorage;
  let here: LogConsumer;
  let there: MemberProcess;
  beforeAll(async () => void (own = await startOwnKafka()), 120_000);
  afterAll(() => own?.stop(), 60_000);

  /** Both have their partitions and are given a record for each key. */
  const begin = async (prefix: string, holdMs: number): Promise<void> => {
    options = { ...own.options(prefix), sessionMs };
    kafka = await openKafka(options);
    there = await MemberProcess.join(options, holdMs);
    here = await LogConsumer.join(kafka.log, { group: 'g', topics: [sources] });
    await until('they share the partitions', async () => {
      await kafka.log.append([entry(sources, { orgId: 'o', sourceId: 'any', firstReceivedMs: 1, lastReceivedMs: 1 })]);
      return there.lines.length > 1 || here.records.length > 0;
    });
    await kafka.log.append(
      keys.map((key) => entry(sources, { orgId: 'o', sourceId: key.slice(2), firstReceivedMs: 1, lastReceivedMs: 1 })),
    );
    await until('both have got theirs', () => {
      const got = new Set([...there.keys('took'), ...here.records.map(({ key }) => key)]);
      return keys.every((key) => got.has(key));
    });
  };
  afterEach(async () => {
    await there.kill();
    await kafka.close();
  });
  const hereHas = (): Set<string> => new Set(here.records.map(({ key }) => key));

  it('one that is killed is replaced by the other, who gets all that was not committed', async () => {
    await begin('killed.', 0);
    const theirs = there.keys('took');
    expect(keys.some((key) => theirs.has(key))).toBe(true);
    await there.kill();
    await until('the other one has all', () => keys.every((key) => hereHas().has(key)));
    await here.subscription.caughtUp();
    await here.commit();
    expect(await here.subscription.lag()).toBe(0);
  }, 120_000);

  it('one that is frozen and wakes up drops what it held, and the other one has it', async () => {
    await begin('frozen.', 5_000);
    const before = here.records.length;
    there.child.kill('SIGSTOP');
    // What it has said before it was frozen comes long before the group gives its partitions to the other one.
    const holding = (): string[] => {
      const did = there.keys('did');
      return [...there.keys('took')].filter((key) => !did.has(key));
    };
    await until('the other one has what it holds', () => {
      const since = new Set(here.records.slice(before).map(({ key }) => key));
      const held = holding();
      return held.length > 0 && held.every((key) => since.has(key));
    });
    const holds = holding();
    await here.commit();
    there.child.kill('SIGCONT');
    await until('it has dropped what it held', () => holds.every((key) => there.keys('dropped').has(key)));
    await until('it has joined again', async () => {
      await kafka.log.append(
        keys.map((key) => entry(sources, { orgId: 'o', sourceId: `${key.slice(2)}-again`, firstReceivedMs: 1, lastReceivedMs: 1 })),
      );
      return [...there.keys('did')].some((key) => key.endsWith('-again'));
    });
    expect([...there.keys('did')].filter((key) => holds.includes(key))).toEqual([]);
  }, 120_000);
});

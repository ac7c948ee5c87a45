import { setImmediate, setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { logUnavailable } from '../trouble.js';
import { until } from '#testing';
import type { Producing, Sending } from './guarded-producer.js';
import type { Outgoing } from './send-place.js';
import { SendQueue } from './send-queue.js';

/** What a partition does with what is sent to it. */
type Mood = 'takes' | 'refuses' | 'refuses for good' | 'hangs';

/** Brokers in memory: partition n is led by the broker of n modulo 3. */
class Brokers {
  readonly moods = new Map<number, Mood>();
  readonly leaderless = new Set<number>();
  /** Partitions that another broker leads by now, as whoever asks again is told. */
  readonly moved = new Map<number, number>();
  #told = new Map<number, number>();
  /** Texts in each partition, in order. */
  readonly log = new Map<number, string[]>();
  producers = 0;
  closed = 0;
  /** Sends of each partition that are under way. */
  readonly #out = new Map<number, number>();
  mostAtOnce = 0;

  readonly leaders = {
    of: ({ partition }: { readonly partition: number }): number | undefined =>
      this.leaderless.has(partition) ? undefined : (this.#told.get(partition) ?? partition % 3),
    refresh: async (): Promise<void> => void (this.#told = new Map(this.moved)),
  };

  producer(): Producing {
    this.producers++;
    let cut = Promise.withResolvers<never>();
    cut.promise.catch(() => undefined);
    return {
      send: async (sendings) => {
        cut = Promise.withResolvers();
        cut.promise.catch(() => undefined);
        this.#count(sendings, 1);
        try {
          return await Promise.race([this.#send(sendings), cut.promise]);
        } finally {
          this.#count(sendings, -1);
        }
      },
      cut: () => cut.reject(new Error('cut')),
      close: async () => void this.closed++,
    };
  }

  async #send(sendings: readonly Sending[]): Promise<ReadonlyMap<Sending, Error>> {
    await setImmediate();
    if (sendings.some(({ partition }) => this.moods.get(partition) === 'hangs')) await new Promise(() => undefined);
    if (sendings.some(({ partition }) => this.leaderless.has(partition))) throw new Error('Broker -1 not found');
    const refusal = ({ partition }: Sending): string | undefined => {
      if (this.moved.get(partition) !== this.#told.get(partition)) return 'NOT_LEADER_FOR_PARTITION';
      const mood = this.moods.get(partition);
      return mood === 'refuses' ? 'NOT_ENOUGH_REPLICAS' : mood === 'refuses for good' ? 'MESSAGE_TOO_LARGE' : undefined;
    };
    const refused = sendings.filter((one) => refusal(one) !== undefined);
    const taken = sendings.filter((one) => !refused.includes(one));
    for (const { partition, messages } of taken) {
      const texts = this.log.get(partition) ?? [];
      this.log.set(partition, [...texts, ...messages.map(({ value }) => String(value))]);
    }
    return new Map(refused.map((one) => [one, Object.assign(new Error('refused'), { type: refusal(one)! })]));
  }

  #count(sendings: readonly Sending[], by: number): void {
    for (const { partition } of sendings) {
      const out = (this.#out.get(partition) ?? 0) + by;
      this.#out.set(partition, out);
      this.mostAtOnce = Math.max(this.mostAtOnce, out);
    }
  }
}

const record = (partition: number, text: string): Outgoing => ({ topic: 't', partition, bytes: 100, message: { key: 'k', value: text } });

describe('a queue of sends', () => {
  let brokers: Brokers;
  let queue: SendQueue;
  beforeEach(() => {
    brokers = new Brokers();
    queue = queueOf(700);
  });
  afterEach(() => queue.crash(logUnavailable('The log is being closed.')));

  const queueOf = (waitMs: number): SendQueue => new SendQueue({ newProducer: () => brokers.producer(), leaders: brokers.leaders, waitMs });
  const add = (partition: number, text: string): Promise<void> => queue.add([record(partition, text)]);
  const outcome = (adding: Promise<void>): Promise<string> =>
    adding.then(
      () => 'taken',
      (error: { readonly code: string }) => error.code,
    );

  it('resolves once every record of a call is in the log', async () => {
    await queue.add([0, 1, 2, 3].map((partition) => record(partition, `${partition}`)));
    expect([...brokers.log].toSorted(([a], [b]) => a - b)).toEqual([0, 1, 2, 3].map((partition) => [partition, [`${partition}`]]));
    expect([queue.figures(), brokers.producers]).toEqual([{ bytes: 0, records: 4, sends: 3, failures: 0 }, 3]);
  });

  it.each<[string, (partition: number) => void]>([
    ['is refused by its leader', (partition) => void brokers.moods.set(partition, 'refuses')],
    ['has no leader', (partition) => void brokers.leaderless.add(partition)],
  ])('goes on with all other partitions while one %s, and with that one afterwards', async (_, break_) => {
    // Calls wait for the partition however long the others take on a busy machine.
    queue = queueOf(60_000);
    await Promise.all([add(4, 'a'), add(7, 'a')]);
    break_(7);
    const waiting = [outcome(add(7, 'b')), outcome(add(7, 'c'))];
    const both = outcome(queue.add([record(7, 'd'), record(4, 'd')]));
    for (let n = 0; n < 50; n++) await Promise.all([add(4, `${n}`), add(1, `${n}`), add(2, `${n}`)]);
    expect(brokers.log.get(7)).toEqual(['a']);
    expect([queue.failure, queue.partialFailure]).toEqual([undefined, expect.objectContaining({ error: expect.any(Error) })]);
    brokers.moods.clear();
    brokers.leaderless.clear();
    expect(await Promise.all([...waiting, both])).toEqual(['taken', 'taken', 'taken']);
    await add(7, 'e');
    expect(brokers.log.get(7)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(brokers.log.get(4)).toEqual(['a', 'd', ...Array.from({ length: 50 }, (__, n) => `${n}`)]);
    expect([brokers.mostAtOnce, queue.figures().bytes]).toEqual([1, 0]);
  });

  it('sends what is urgent while other records are out to the same broker', async () => {
    brokers.moods.set(4, 'hangs');
    const hanging = outcome(add(4, 'a'));
    await queue.add([{ ...record(7, 'urgent'), isUrgent: true }]);
    expect(brokers.log.get(7)).toEqual(['urgent']);
    expect(await hanging).toBe('log_unavailable');
  });

  it('waits for a broker that hangs with its own partitions only', async () => {
    brokers.moods.set(4, 'hangs');
    const hanging = [outcome(add(4, 'a')), outcome(add(7, 'a'))];
    for (let n = 0; n < 50; n++) await Promise.all([add(0, `${n}`), add(2, `${n}`)]);
    expect(await Promise.all(hanging)).toEqual(['log_unavailable', 'log_unavailable']);
    brokers.moods.clear();
    await Promise.all([add(4, 'b'), add(7, 'b')]);
    expect([brokers.log.get(4), brokers.log.get(7), queue.figures().bytes]).toEqual([['b'], ['b'], 0]);
  });

  it('never sends later what a call was told between two attempts that it is not in the log', async () => {
    brokers.moods.set(4, 'refuses');
    expect(await Promise.all([outcome(add(4, 'a')), outcome(add(7, 'a'))])).toEqual(['log_unavailable', 'taken']);
    brokers.moods.clear();
    await add(4, 'b');
    expect([brokers.log.get(4), queue.figures().bytes]).toEqual([['b'], 0]);
  });

  it('gives everything up at a crash, also what waits for another attempt', async () => {
    brokers.leaderless.add(7);
    const waiting = [add(4, 'a'), add(7, 'a'), add(7, 'b')].map(outcome);
    await pause(20);
    queue.crash(logUnavailable('The log is being closed.'));
    expect(await Promise.all(waiting)).toEqual(['taken', 'log_unavailable', 'log_unavailable']);
    expect(await outcome(add(4, 'c'))).toBe('log_unavailable');
    await until('nothing is held', () => queue.figures().bytes === 0);
    expect(brokers.log.get(7)).toBeUndefined();
  });

  it('refuses only the records that a broker refuses for good', async () => {
    brokers.moods.set(4, 'refuses for good');
    expect(await Promise.all([add(4, 'a'), add(7, 'a'), add(1, 'a')].map(outcome))).toEqual(['log_unavailable', 'taken', 'taken']);
    brokers.moods.clear();
    await add(4, 'b');
    expect([brokers.log.get(4), queue.figures().bytes, brokers.producers]).toEqual([['b'], 0, 1]);
  });

  it('follows a partition to its new leader', async () => {
    await Promise.all([add(4, 'a'), add(5, 'a')]);
    brokers.moved.set(4, 2);
    await Promise.all([add(4, 'b'), add(7, 'b'), add(4, 'c')]);
    await add(4, 'd');
    expect([brokers.log.get(4), brokers.log.get(7), brokers.producers]).toEqual([['a', 'b', 'c', 'd'], ['b'], 2]);
  });

  it('keeps the order of each partition through refusals, moves of leaders and brokers that hang', async () => {
    const sent = new Map<number, string[]>();
    const adding: Promise<void>[] = [];
    for (let n = 0; n < 400; n++) {
      const partition = (n * 7) % 12;
      const at = (n * 5) % 12;
      if (n % 20 === 0) brokers.moods.set(at, 'refuses');
      if (n % 20 === 10) brokers.moods.clear();
      if (n % 50 === 0) brokers.leaderless.add(at);
      if (n % 50 === 25) brokers.leaderless.clear();
      sent.set(partition, [...(sent.get(partition) ?? []), `${n}`]);
      adding.push(add(partition, `${n}`).catch(() => undefined));
      if (n % 5 === 0) await pause(1);
    }
    brokers.moods.clear();
    brokers.leaderless.clear();
    await Promise.all(adding);
    expect(brokers.mostAtOnce).toBe(1);
    for (const [partition, texts] of brokers.log) expect(texts).toEqual(sent.get(partition)!.filter((text) => texts.includes(text)));
    expect(queue.figures().bytes).toBe(0);
  });
});

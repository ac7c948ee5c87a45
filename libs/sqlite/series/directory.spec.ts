import { isDeepStrictEqual } from 'node:util';
import { setImmediate } from 'node:timers/promises';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from '@jest/globals';
import { compareUtf8 } from '#model';
import { Random } from '#testing';
import { Directory, type StoredNames } from './directory.js';
import { readNames, writeDirectory } from './directory-rows.js';
import { NameCheck } from './name-check.js';
import { nameReader } from './name-reader.js';
import { createSeriesTables } from './writer.js';

/** The names in a file, whose answers take a while each, and how often it was asked. */
class SlowNames implements StoredNames {
  asked = 0;
  readonly checked: Promise<void>;
  readonly #handlers: ReturnType<typeof nameReader>;

  constructor(
    readonly db: DatabaseSync,
    private readonly random: Random,
  ) {
    this.#handlers = nameReader(db);
    this.checked = this.#check();
  }

  sources = (asked: Parameters<StoredNames['sources']>[0]): ReturnType<StoredNames['sources']> => this.#answer('series.sources', asked);
  fleet = (asked: Parameters<StoredNames['fleet']>[0]): ReturnType<StoredNames['fleet']> => this.#answer('series.fleet', asked);

  async #check(): Promise<void> {
    await this.#wait();
    while (new NameCheck(this.db, readNames(this.db, 0), () => undefined).step(Infinity));
  }

  async #answer<T>(name: string, asked: unknown): Promise<T> {
    this.asked++;
    await this.#wait();
    const answer = this.#handlers[name]!(asked as never) as T | { readonly result: T };
    await this.#wait();
    return typeof answer === 'object' && answer !== null && 'result' in answer ? answer.result : answer;
  }

  async #wait(): Promise<void> {
    for (let turns = this.random.whole(0, 2); turns > 0; turns--) await setImmediate();
  }
}

function newNames(random: Random): SlowNames {
  const db = new DatabaseSync(':memory:');
  createSeriesTables(db);
  return new SlowNames(db, random);
}

const orgs = ['o', 'p'];
const sourceIds = ['a', 'b', 'c', 'd', 'e', '\u{1f600}', '\uffff'];
const metrics = ['m', 'n', 'k'];
const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));

it.each([1, 600, 1200, 1e9])(`has each series under one number, whatever memory holds of them: %d bytes, SEED=${seed}`, async (bytes) => {
  for (let history = 0; history < 20; history++) {
    const random = new Random(seed + history);
    const names = newNames(random);
    const directory = new Directory(readNames(names.db, 0), names, bytes);
    /** What there is, by organization, source and metric. */
    const model = new Map<string, number>();
    const given = new Set<number>();
    const wrong: unknown[] = [];
    const compare = (found: unknown, expected: unknown): void => {
      if (!isDeepStrictEqual(found, expected)) wrong.push({ found, expected });
    };
    const keysOf = (orgId: string, sourceId: string): string[] =>
      metrics.map((metric) => `${orgId}/${sourceId}/${metric}`).filter((key) => model.has(key));
    let flight: ReturnType<Directory['takeNew']> | undefined;
    const write = (): void => {
      if (!flight) return;
      writeDirectory(names.db, flight);
      directory.wrote();
      flight = undefined;
    };
    const steps: readonly (() => unknown)[] = [
      async () => {
        const [orgId, sourceId, metric] = [random.pick(orgs), random.pick(sourceIds), random.pick(metrics)];
        await directory.ready;
        await directory.with({ orgId, sourceId }, (source) => {
          const known = source.series(metric);
          compare(known, model.get(`${orgId}/${sourceId}/${metric}`));
          if (known !== undefined) return;
          const series = directory.makeSeries(source, metric);
          compare(given.has(series), false);
          given.add(series);
          model.set(`${orgId}/${sourceId}/${metric}`, series);
        });
      },
      async () => {
        const [orgId, sourceId] = [random.pick(orgs), random.pick(sourceIds)];
        await directory.with({ orgId, sourceId }, (source) => {
          const its = source.metrics.filter(() => random.chance(0.7));
          if (its.length > 0) directory.forget(source, its);
          for (const metric of its) model.delete(`${orgId}/${sourceId}/${metric}`);
        });
      },
      () => {
        write();
        flight = directory.takeNew();
      },
      write,
    ];
    const reads: Promise<unknown>[] = [];
    for (let step = 0; step < 120; step++) {
      // Points are written one after the other, and readers come at any time.
      const reader = { orgId: random.pick(orgs), sourceId: random.pick(sourceIds) };
      if (random.chance(0.5))
        reads.push(
          directory.with(reader, (source) => {
            const its = source.metrics.map((metric) => `${reader.orgId}/${reader.sourceId}/${metric}`);
            compare(its.toSorted(), keysOf(reader.orgId, reader.sourceId).toSorted());
          }),
        );
      if (random.chance(0.1)) reads.push(directory.fleet(random.pick(orgs), random.pick(metrics)));
      await random.pick(steps)();
      if (random.chance(0.1)) {
        const [orgId, metric] = [random.pick(orgs), random.pick(metrics)];
        const fleet = await directory.fleet(orgId, metric);
        const its = sourceIds.filter((sourceId) => model.has(`${orgId}/${sourceId}/${metric}`)).toSorted(compareUtf8);
        compare([fleet.sourceIds, [...fleet.series]], [its, its.map((sourceId) => model.get(`${orgId}/${sourceId}/${metric}`))]);
      }
    }
    await Promise.all(reads);
    expect(wrong).toEqual([]);
    write();
    flight = directory.takeNew();
    write();
    const again = new Directory(readNames(names.db, given.size - model.size), names, bytes);
    expect(again.lastSeries).toBe(given.size);
    let ended = 0;
    for (const orgId of orgs) {
      expect(again.sourcesOf(orgId)).toBe(sourceIds.filter((sourceId) => keysOf(orgId, sourceId).length > 0).length);
      expect(again.sourcesOf(orgId)).toBe(directory.sourcesOf(orgId));
      ended += directory.bytesOf(orgId) - again.bytesOf(orgId);
    }
    // Whose numbers without a series were is known until a restart, and that they take memory also after it.
    expect(ended).toBe(24 * (given.size - model.size));
    expect([again.bytes, again.sources]).toEqual([directory.bytes, directory.sources]);
  }
});

it('asks the store for nothing while memory holds all there is', async () => {
  const names = newNames(new Random(1));
  const directory = new Directory(readNames(names.db, 0), names);
  await directory.ready;
  for (let at = 0; at < 10; at++)
    await directory.with({ orgId: 'o', sourceId: `s-${at}` }, (source) => void directory.makeSeries(source, 'm'));
  writeDirectory(names.db, directory.takeNew());
  directory.wrote();
  await directory.with({ orgId: 'o', sourceId: 'x' }, () => undefined);
  expect(names.asked).toBe(0);
  const again = new Directory(readNames(names.db, 0), names);
  await again.ready;
  await again.load(Array.from({ length: 10 }, (_, at) => ({ orgId: 'o', sourceId: `s-${at}` })));
  await again.with({ orgId: 'o', sourceId: 'x' }, () => undefined);
  expect(names.asked).toBe(1);
});

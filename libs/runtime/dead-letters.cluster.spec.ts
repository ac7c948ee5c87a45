import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { randomInt } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { entry } from '#log';
import { describeOnServers, eventually, LogConsumer, serverEnvironment } from '#testing';
import { points, sources } from '#topics';
import { run as runCommand } from '../../apps/cli/test-run.js';
import { ProcessorsModule } from '../../apps/processors/processors.module.js';
import { openLog, type Kafka } from './adapters.js';
import { cluster } from './cluster.js';
import { readConfig } from './config.js';
import { initDataPlane, rebuildDataPlane, verifyDataPlane } from './data-plane.js';
import { createLogger } from './logger.js';
import { start, type Running } from './start.js';

const number = randomInt(1, 1_000_000);
const silent = (): void => undefined;
const name = points.name;

interface Shown {
  readonly letters: readonly Readonly<Record<string, unknown>>[];
}

describeOnServers('dead letters', () => {
  let env: Record<string, string>;
  let kafka: Kafka;
  let processors: Running;
  beforeAll(async () => {
    env = {
      ...serverEnvironment(),
      HEADWATER_KAFKA_PREFIX: `letters${number}.`,
      HEADWATER_CACHE: mkdtempSync(join(tmpdir(), 'headwater-cache-')),
      HEADWATER_PORT: '0',
      HEADWATER_ADMIN_PORT: '0',
      HEADWATER_CHECKPOINT_SECONDS: '1',
      // A member that is slow for a moment would park its records again.
      HEADWATER_SESSION_SECONDS: '30',
    };
    const config = readConfig(env);
    await initDataPlane(config, silent, 1000 * number);
    kafka = await openLog(config, silent, 60_000);
    processors = await start(ProcessorsModule, cluster('processors'), config, await createLogger('silent'));
    await processors.opened;
  }, 180_000);
  afterAll(async () => {
    await processors?.stop();
    await kafka?.close();
  });

  const headwater = (...args: readonly string[]): ReturnType<typeof runCommand> => runCommand(args, { env });
  const seen = async (sourceId: string): Promise<void> => {
    const view = kafka.views.open(sources);
    await eventually(() => expect(view.get(`o/${sourceId}`)).toMatchObject({ firstReceivedMs: 1 }));
  };

  it('are none at first', async () => {
    const { code, stdout, stderr } = await headwater('dlq', 'list');
    expect([code, stdout.split(' ')[0], stderr]).toEqual([0, 'TOPIC', 'There are no dead letters.\n']);
  });

  it('of every group that could not use a record are listed and shown', async () => {
    await kafka.log.appendBytes(name, 'o/bad', Buffer.from('rubbish'), {});
    await eventually(async () => {
      const { topics } = JSON.parse((await headwater('dlq', 'list', '--json')).stdout) as { topics: readonly object[] };
      expect(topics).toMatchObject([{ topic: name, letters: 3, newest: [{ offset: 2 }, { offset: 1 }, { offset: 0 }] }]);
    });
    const { letters } = JSON.parse((await headwater('dlq', 'show', name, '--json')).stdout) as Shown;
    const reason = 'the record does not begin with 0x00 and a schema id';
    const bad = { from: { topic: name, offset: 0 }, reason, key: 'o/bad', bytes: 7, hex: Buffer.from('rubbish').toString('hex') };
    expect(letters).toMatchObject([bad, bad, bad]);
    expect(new Set(letters.map(({ group }) => group))).toEqual(new Set([`series.g${1000 * number}`, 'sources', 'monitors']));
    const { stdout } = await headwater('dlq', 'show', `${name}.dlq`, '--limit', '1');
    expect(stdout).toMatch(/^offset {2}2\nparked .*\n.*\n.*\nreason {2}the record does not begin with 0x00/);
  });

  it('are projected once they are sent back to processors that can use them', async () => {
    const batch = { orgId: 'o', sourceId: 'good', receivedMs: 1, series: [{ metric: 'm', tags: '', timestampMs: [1], value: [2] }] };
    const columns = batch.series.map((run) => ({
      ...run,
      timestampMs: Float64Array.from(run.timestampMs),
      value: Float64Array.from(run.value),
    }));
    const consumer = await LogConsumer.join(kafka.log, { group: 'bytes', topics: [points] });
    await kafka.log.append([entry(points, { ...batch, sourceId: 'first', series: columns })]);
    await consumer.has(1);
    // Of the same length, so that the bytes are still a record.
    const bytes = Buffer.from(kafka.log.encoded(consumer.records[0]!)).toString('latin1').replace('first', 'later');
    const headers = { topic: name, partition: '0', offset: '99', group: 'series', reason: 'a fault that is mended' };
    await kafka.log.appendBytes(`${name}.dlq`, 'o/later', Buffer.from(bytes, 'latin1'), headers);

    const { letters } = JSON.parse((await headwater('dlq', 'show', name, '--limit', '1', '--json')).stdout) as Shown;
    const shown = { ...batch, sourceId: 'later', series: batch.series.map((run) => ({ ...run, tags: {} })) };
    expect(letters).toMatchObject([{ offset: 3, key: 'o/later', value: shown }]);
    const ran = await headwater('dlq', 'redrive', name, '--offset', '3', '--json');
    expect(ran).toEqual({ code: 0, stdout: '{"redriven":1,"left":0}\n', stderr: 'Appended 1 record again.\n' });
    await seen('later');
    await consumer.has(2);
    const [first, second] = consumer.records;
    expect([second!.key, Buffer.from(kafka.log.encoded(second!))]).toEqual(['o/later', Buffer.from(bytes, 'latin1')]);
    expect(first!.key).toBe('o/first');
    await consumer.stop();
  });

  const lettersThere = (count: number): Promise<void> =>
    eventually(async () => expect((await kafka.deadLetters.newest(points, 1)).count).toBe(count));

  it('of several groups are one record when all are sent back, each letter once', async () => {
    const again = await headwater('dlq', 'redrive', name, '--offset', '3');
    expect([again.code, again.stderr]).toEqual([
      1,
      expect.stringContaining('The dead letter 3 of telemetry.points.v1 was sent back before.'),
    ]);
    // Nobody can use the bad one yet, so it comes back, one letter of each group; the one that was sent by itself stays where it is.
    for (const times of [2, 3]) {
      expect(await headwater('dlq', 'redrive', name, '--all')).toEqual({ code: 0, stdout: '', stderr: 'Appended 1 record again.\n' });
      await lettersThere(4 + 3 * (times - 1));
      const { letters } = JSON.parse((await headwater('dlq', 'show', name, '--limit', '3', '--json')).stdout) as Shown;
      expect(letters).toMatchObject([
        { key: 'o/bad', attempts: times },
        { key: 'o/bad', attempts: times },
        { key: 'o/bad', attempts: times },
      ]);
    }
  });

  it('are not parked again by new generations', async () => {
    const watcher = { told: silent, lags: silent, leaveMs: 10 };
    await verifyDataPlane(readConfig(env), false, watcher);
    await rebuildDataPlane(readConfig(env), watcher);
    expect((await kafka.deadLetters.newest(points, 1)).count).toBe(10);
  }, 120_000);

  it('are deleted when it is confirmed, those before a time or all', async () => {
    const purge = async (...args: readonly string[]): Promise<readonly unknown[]> => {
      const { code, stdout, stderr } = await headwater('dlq', 'purge', name, ...args, '--json');
      return [code, JSON.parse(stdout), stderr];
    };
    const counted = { letters: 10, waiting: 3 };
    expect(await purge()).toEqual([
      1,
      { ...counted, purged: 0 },
      expect.stringContaining('This would delete 10 dead letters of telemetry.p'),
    ]);
    const [, , , later] = (await kafka.deadLetters.newest(points, 10)).newest;
    expect(await purge('--before', new Date(later!.parkedMs).toISOString(), '--yes')).toMatchObject([
      0,
      { letters: 3, waiting: 0, purged: 3 },
      expect.stringContaining('Deleted 3 dead letters'),
    ]);
    await lettersThere(7);
    expect(await purge('--yes')).toMatchObject([0, { letters: 7, waiting: 3, purged: 7 }, expect.any(String)]);
    expect(await purge('--yes')).toMatchObject([0, { letters: 0, purged: 0 }, 'There are no such dead letters of telemetry.points.v1.\n']);
    expect(await headwater('dlq', 'redrive', name, '--all')).toMatchObject({ code: 0, stderr: 'Appended 0 records again.\n' });
  });

  it('of no topic stay where they are, and the command says so', async () => {
    await kafka.log.appendBytes(`${sources.name}.dlq`, 'o/x', Buffer.from('x'), {});
    const ran = await headwater('dlq', 'redrive', sources.name, '--all');
    expect([ran.code, ran.stdout]).toEqual([1, '']);
    expect(ran.stderr).toContain('1 dead letter cannot be redriven');
    expect(await headwater('dlq', 'redrive', sources.name, '--offset', '7')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no dead letter of sources.v1 with the offset 7.'),
    });
  });
});

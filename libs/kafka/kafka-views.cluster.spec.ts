import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { entry, tombstone, type Change } from '#log';
import type { ApiKey } from '#model';
import { describeOnKafka, LogConsumer, until } from '#testing';
import { apiKeys } from '#topics';
import { endWithUs } from '../../infra/servers/index.js';
import { Asker } from './asker.js';
import { openKafka, type KafkaOptions, type KafkaStorage } from './open-kafka.js';
import { testOptions } from './open-test-log.js';
import { setSettings, settingsOf } from './topic-settings.js';

const aKey = (keyId: string, name = 'n'): ApiKey => ({
  keyId,
  orgId: 'o',
  name,
  sha256: 'a'.repeat(64),
  prefix: 'hw_',
  suffix: 'x',
  scopes: ['write'],
  createdMs: 1,
  sources: ['*'],
  createdBy: '',
});

describeOnKafka('a view of a compacted topic', () => {
  let options: KafkaOptions;
  let kafka: KafkaStorage;
  let asker: Asker;
  beforeEach(async () => {
    options = testOptions([apiKeys]);
    kafka = await openKafka(options);
    asker = new Asker(options);
  });
  afterEach(async () => {
    await kafka.close();
    await asker.close();
  });

  const put = (...keys: readonly ApiKey[]): Promise<void> => kafka.log.append(keys.map((key) => entry(apiKeys, key)));
  const name = (): string => options.prefix + apiKeys.name;
  const set = async (settings: Readonly<Record<string, string>>): Promise<void> => {
    const own = (await asker.ask((admin) => settingsOf(admin, [name()]))).get(name())!.own;
    await asker.ask((admin) => setSettings(admin, name(), new Map([...own, ...Object.entries(settings)])));
  };

  it('does not show a key whose tombstone was compacted away while its process was frozen', async () => {
    await set({ 'delete.retention.ms': '4000', 'segment.ms': '200', 'min.cleanable.dirty.ratio': '0.001' });
    await put(aKey('gone'), aKey('stays'), aKey('changes', 'before'));
    const file = new URL('./view-process.js', import.meta.url).pathname;
    const child = spawn(process.execPath, [file, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] });
    endWithUs(child);
    const lines: object[] = [];
    createInterface(child.stdout).on('line', (line) => lines.push(JSON.parse(line) as object));
    try {
      await until('it is ready', () => lines.length > 0);
      expect(lines).toEqual([{ ready: ['changes', 'gone', 'stays'] }]);
      child.kill('SIGSTOP');
      // The fetch that its broker keeps is answered with this one: the tombstone does not wait in its socket.
      await put(aKey('new'));
      await kafka.log.append([tombstone(apiKeys, 'gone'), entry(apiKeys, aKey('changes', 'after'))]);
      let group = 0;
      await until('the tombstone is compacted away', async () => {
        // A segment is compacted once there is a newer one.
        await put(aKey('new'));
        const consumer = await LogConsumer.join(kafka.log, { group: `g${group++}`, topics: [apiKeys] });
        await consumer.subscription.caughtUp();
        const { records } = consumer;
        await consumer.stop();
        return records.every(({ key }) => key !== 'gone');
      });
      child.kill('SIGCONT');
      const shown = ['changes', 'new', 'stays'];
      const heard = (key: string): boolean => lines.some((line) => 'key' in line && line.key === key);
      await until('it has read the topic again', () => heard('gone') && heard('changes'));
      expect(lines).toContainEqual({ key: 'gone', gone: true, shown });
      expect(lines).toContainEqual({ key: 'changes', gone: false, shown: expect.anything() });
      expect(lines).not.toContainEqual(expect.objectContaining({ key: 'stays' }));
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('is read again when somebody has cut off the beginning of the topic, and goes on', async () => {
    await put(aKey('a'), aKey('b'));
    const view = kafka.views.open(apiKeys);
    await view.ready;
    const changes: Change<ApiKey>[] = [];
    view.changes((change) => changes.push(change));
    await set({ 'cleanup.policy': 'compact,delete' });
    await until('it is read again', async () => {
      // It may have heard of this one before it is cut off: then the next one comes.
      await put(aKey('c'));
      const [extents] = (await kafka.groups.ends([apiKeys.name])).values();
      const partitions = [{ partition: 0, offset: String(extents![0]!.high) }];
      await asker.ask((admin) => admin.deleteTopicRecords({ topic: name(), partitions }));
      return view.get('a') === undefined;
    });
    expect(view.get('b')).toBeUndefined();
    expect(changes.filter(({ value }) => value === null).map(({ key }) => key)).toEqual(expect.arrayContaining(['a', 'b']));
    await put(aKey('d'));
    await view.caughtUp();
    expect(view.get('d')).toEqual(aKey('d'));
    expect(view.ageMs()).toBeLessThan(60_000);
  });
});

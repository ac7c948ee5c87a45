import { expect, it } from '@jest/globals';
import { deadLettersOf, entry, readLog } from '#log';
import { openStorage } from '#sqlite';
import { sources } from '#topics';
import { newFolder, run } from './test-run.js';

it('dead letters of a stopped server are listed, shown, sent back once, and deleted', async () => {
  const data = newFolder();
  const source = { orgId: 'o', sourceId: 'a', firstReceivedMs: 1, lastReceivedMs: 2, heardIn: null };
  /** The newest value of each key. */
  const keys = async (): Promise<readonly (readonly [key: string, value: unknown])[]> => {
    const storage = await openStorage(data);
    const found: (readonly [string, unknown])[] = [];
    const take = (records: readonly { readonly key: string; readonly value: unknown }[]): void =>
      void found.push(...records.map(({ key, value }) => [key, value] as const));
    await readLog(storage.log, { topics: [sources], from: 'beginning', take });
    await storage.close();
    return [...new Map(found)];
  };

  const storage = await openStorage(data);
  await storage.log.append([entry(sources, source)]);
  let bytes: Uint8Array | undefined;
  const take = ([record]: readonly { readonly value: unknown }[]): void => void (bytes = record!.value as Uint8Array);
  await readLog(storage.log, { topics: [sources], from: 'beginning', asBytes: true, take });
  const letters = deadLettersOf(sources.name);
  const headers = { topic: sources.name, partition: '0', offset: '0', group: 'g', reason: 'why not' };
  await storage.log.appendBytes(letters, 'o/a', bytes!, headers);
  await storage.log.appendBytes(letters, 'o/a', bytes!, { ...headers, group: 'h' });
  await storage.log.appendBytes(letters, 'o/b', new Uint8Array(), { ...headers, offset: '1' });
  await storage.log.appendBytes(letters, 'o/c', bytes!, { reason: 'from nowhere' });
  await storage.close();

  const dlq = (what: string, ...args: readonly string[]): ReturnType<typeof run> => run(['dlq', what, ...args, '--data', data]);
  const list = async (): Promise<unknown> => JSON.parse((await dlq('list', '--json')).stdout);
  expect(await list()).toMatchObject({ topics: [{ topic: sources.name, letters: 4, newest: [{ reason: 'from nowhere' }, {}, {}] }] });
  const shown = JSON.parse((await dlq('show', sources.name, '--json')).stdout) as {
    readonly letters: readonly { readonly offset: number }[];
  };
  expect(shown.letters).toMatchObject([
    { key: 'o/a', group: 'g', value: source },
    { key: 'o/a', group: 'h', value: source },
    { key: 'o/b', bytes: 0 },
    { key: 'o/c', reason: 'from nowhere' },
  ]);

  const [first] = shown.letters;
  expect(await dlq('redrive', sources.name, '--offset', `${first!.offset}`)).toMatchObject({
    code: 0,
    stderr: 'Appended 1 record again.\n',
  });
  expect((await dlq('redrive', sources.name, '--offset', `${first!.offset}`)).stderr).toContain('was sent back before');
  // The second letter is of the same record, and the last one does not say where it came from.
  expect(await dlq('redrive', sources.name, '--all', '--json')).toMatchObject({ code: 1, stdout: '{"redriven":1,"left":1}\n' });
  expect(await dlq('redrive', sources.name, '--all', '--json')).toMatchObject({ code: 0, stdout: '{"redriven":0,"left":0}\n' });
  expect(await keys()).toEqual([
    ['o/a', source],
    ['o/b', null],
  ]);

  expect((await dlq('purge', sources.name)).stderr).toContain('This would delete 4 dead letters');
  expect(await dlq('purge', sources.name, '--yes', '--json')).toMatchObject({ code: 0, stdout: '{"letters":4,"waiting":0,"purged":4}\n' });
  expect(await list()).toEqual({ topics: [] });
});

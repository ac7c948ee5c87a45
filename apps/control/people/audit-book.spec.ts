import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Accounts, Readiness } from '#edge';
import { entry, LogGap, readLog, type RecordLog } from '#log';
import type { AuditEntry } from '#model';
import { openStorage, type Storage } from '#sqlite';
import { until, withMethods } from '#testing';
import { audit } from '#topics';
import { AuditBook, maxShown } from './audit-book.js';

let dir: string;
let storage: Storage;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'headwater-audit-'));
  storage = await openStorage(dir);
});
afterEach(async () => {
  await storage.close();
  await rm(dir, { recursive: true });
});

let made = 0;
const change = (area: string, orgId = 'o'): AuditEntry => {
  const count = made++;
  return { orgId, id: `c${count}/0`, area, count, atMs: 1, by: { id: 'ada', name: 'ada' }, did: `${area}.created`, about: 'x', text: 'x' };
};
const append = (entries: readonly AuditEntry[]): Promise<void> => storage.log.append(entries.map((one) => entry(audit, one)));
async function bookOn(log: RecordLog): Promise<AuditBook> {
  const readiness = new Readiness();
  const book = new AuditBook(log, new Accounts(storage.views), readiness);
  await readiness.opened();
  return book;
}
/** How many changes the topic has; one that came again may be there twice. */
const inTopic = async (): Promise<number> => {
  const keys = new Set<string>();
  await readLog(storage.log, {
    topics: [audit],
    from: 'beginning',
    take: (records) => {
      for (const { key } of records) keys.add(key);
    },
  });
  return keys.size;
};

describe('the audit log', () => {
  it('shows what was changed long ago, however much is changed since', async () => {
    const first = change('monitors');
    await append([first, ...Array.from({ length: 1_000 }, () => change('monitors'))]);
    expect((await bookOn(storage.log)).list('o', 2_000).at(-1)).toEqual(first);
  });

  it('keeps everything, and shows of each organization so much, and each change once', async () => {
    const [first, second, ...others] = Array.from({ length: maxShown + 1 }, () => change('monitors'));
    const foreign = change('keys', 'p');
    await append([foreign, first!, second!]);
    await append([second!]);
    for (let at = 0; at < others.length; at += 1_000) await append(others.slice(at, at + 1_000));
    await storage.close();
    storage = await openStorage(dir);
    const book = await bookOn(storage.log);
    const shown = book.list('o', 2 * maxShown);
    expect([shown.length, shown[0], shown.at(-1)]).toEqual([maxShown, others.at(-1), second]);
    expect([book.list('o', 2, others[0]!.id), book.list('p', 2)]).toEqual([[second], [foreign]]);
    expect(await inTopic()).toBe(maxShown + 2);
  });

  it('goes on after a gap', async () => {
    const stops: ((error: Error) => void)[] = [];
    const book = await bookOn(
      withMethods<RecordLog>(storage.log, {
        follow: (options) => {
          stops.push(options.stopped);
          return storage.log.follow(options);
        },
      }),
    );
    stops[0]!(new LogGap());
    await until('it is read again', () => stops.length === 2);
    const next = change('keys');
    await append([next]);
    await until('the change is shown', () => book.list('o', 2).length > 0);
    expect(book.list('o', 2)).toEqual([next]);
  });
});

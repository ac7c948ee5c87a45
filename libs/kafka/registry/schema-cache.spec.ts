import { mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { SchemaCache } from './schema-cache.js';

describe('a file of schemas', () => {
  let folder: string;
  let reports: string[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-schemas-'));
    reports = [];
  });
  const open = (): SchemaCache => new SchemaCache({ path: join(folder, 'schemas.json'), report: (message) => reports.push(message) });

  it('keeps what each of two who share it has learned, and nothing beside it', async () => {
    const [one, two] = [open(), open()];
    one.keep(1, 'a', 'x-value');
    two.keep(2, 'b', 'x-value');
    one.keep(3, 'c');
    const later = open();
    expect([1, 2, 3].map((id) => later.schema(id))).toEqual(['a', 'b', 'c']);
    expect([later.id('x-value', 'a'), later.id('x-value', 'b'), later.id('x-value', 'c')]).toEqual([1, 2, undefined]);
    expect(await readdir(folder)).toEqual(['schemas.json']);
  });

  it('may be written by many at once, also by those who have the same process id', async () => {
    const module = JSON.stringify(new URL('schema-cache.js', import.meta.url).href);
    const code = `
      const { workerData, parentPort } = require('node:worker_threads');
      import(${module}).then(({ SchemaCache }) => {
        const reports = [];
        const cache = new SchemaCache({ path: workerData.path, report: (message) => reports.push(message) });
        for (let n = 0; n < 300; n++) cache.keep(workerData.from + n, 'x'.repeat(200));
        parentPort.postMessage(reports);
      });`;
    const workers = [1_000, 2_000, 3_000].map(
      (from) => new Worker(code, { eval: true, workerData: { from, path: join(folder, 'schemas.json') } }),
    );
    const told = await Promise.all(
      workers.map((worker) => new Promise((resolve, reject) => worker.on('message', resolve).on('error', reject))),
    );
    expect(told).toEqual([[], [], []]);
    expect(await readdir(folder)).toEqual(['schemas.json']);
    const later = open();
    expect([1_299, 2_299, 3_299].some((id) => later.schema(id))).toBe(true);
  });

  it('that cannot be written leaves the answers as they are, and says so once', async () => {
    await writeFile(join(folder, 'file'), '');
    const cache = new SchemaCache({ path: join(folder, 'file', 'schemas.json'), report: (message) => reports.push(message) });
    cache.keep(1, 'a');
    cache.keep(2, 'b');
    expect([cache.schema(1), cache.schema(2)]).toEqual(['a', 'b']);
    expect(reports).toEqual([expect.stringContaining('the file of schemas cannot be written')]);
  });

  it('that is damaged is as good as none', async () => {
    await writeFile(join(folder, 'schemas.json'), '{"schemas":');
    const cache = open();
    cache.keep(1, 'a');
    expect([open().schema(1), reports]).toEqual(['a', []]);
  });
});

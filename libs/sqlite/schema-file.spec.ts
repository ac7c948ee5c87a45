import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { SchemaFile } from './schema-file.js';

const record = (...fields: object[]): string => JSON.stringify({ type: 'record', name: 'Thing', fields });
const a = { name: 'a', type: 'string' };
const optionalB = { name: 'b', type: 'long', default: 0 };

async function newFile(): Promise<string> {
  return join(await mkdtemp(join(tmpdir(), 'headwater-schemas-')), 'schemas.json');
}

describe('the schema file', () => {
  it('gives a text one id for ever, under every subject and after a restart', async () => {
    const path = await newFile();
    const first = new SchemaFile(path);
    expect(await first.register('x-value', record(a))).toBe(1);
    expect(await first.register('x-value', record(a, optionalB))).toBe(2);
    expect(await first.register('y-value', record(a))).toBe(1);

    const again = new SchemaFile(path);
    expect(await again.register('x-value', record(a, optionalB))).toBe(2);
    expect(await again.register('x-value', record(a))).toBe(1);
    expect(await again.schema(2)).toBe(record(a, optionalB));
    expect(await again.schema(3)).toBeUndefined();
  });

  it('holds all that is registered at once, or nothing of it', async () => {
    const path = await newFile();
    const file = new SchemaFile(path);
    const ids = await file.atOnce(async () => [
      await file.register('x-value', record(a)),
      await file.register('y-value', record(optionalB)),
    ]);
    expect(ids).toEqual([1, 2]);
    const broken = file.atOnce(async () => {
      await file.register('x-value', record(a, optionalB));
      await file.register('y-value', record({ name: 'b', type: 'string' }));
    });
    await expect(broken).rejects.toThrow('cannot read what schema 2 wrote');
    for (const one of [file, new SchemaFile(path)]) {
      expect([await one.schema(1), await one.schema(2), await one.schema(3)]).toEqual([record(a), record(optionalB), undefined]);
    }
  });

  it.each([
    ['a field without a default', [record(a)], record(a, { name: 'b', type: 'long' })],
    ['another type', [record(a)], record({ name: 'a', type: 'long' })],
    ['what only an older version forbids', [record(a), record()], record({ name: 'a', type: 'long' })],
  ])('refuses %s', async (_, older, schema) => {
    const file = new SchemaFile(await newFile());
    for (const text of older) await file.register('x-value', text);
    await expect(file.register('x-value', schema)).rejects.toThrow('cannot read what schema 1 wrote');
    expect(await file.register('another-value', schema)).toBe(older.length + 1);
  });

  it('says so when a byte of it has changed', async () => {
    const path = await newFile();
    await new SchemaFile(path).register('x-value', record(a));
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace('Thing', 'Thong'));
    expect(() => new SchemaFile(path)).toThrow('schemas.json fails its checksum');
    await writeFile(path, text.slice(0, -9));
    expect(() => new SchemaFile(path)).toThrow('schemas.json fails its checksum');
  });
});

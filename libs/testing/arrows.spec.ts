import { existsSync, globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { breach, floorsOf, importsOf, mayImport, ownersOf, roomOf, staticClosure, targetOf, unitOf } from './arrows.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const files = globSync('{apps,libs,infra}/**/*.ts', { cwd: root }).filter((path) => !path.includes('node_modules'));
const read = (path: string): string | undefined => (existsSync(root + path) ? readFileSync(root + path, 'utf8') : undefined);

function breaches(path: string, text: string): string[] {
  return importsOf(text).flatMap((found) => {
    const rule = breach(path, found);
    return rule ? [`${path}:${found.line} imports '${found.specifier}', but ${rule}`] : [];
  });
}

describe('who may import whom', () => {
  it.each([...new Set(files.map((path) => unitOf(path)!))].sort())('%s keeps to the table', (unit) => {
    expect(files.filter((path) => unitOf(path) === unit).flatMap((path) => breaches(path, read(path)!))).toEqual([]);
  });

  it('embedded starts without loading an adapter of the cluster, not even through others', () => {
    const foreign = ['kafka', 'questdb'];
    const packages = Object.keys(ownersOf).filter((name) => ownersOf[name]!.some((owner) => foreign.includes(owner)));
    // Its main loads the rest by import(), once it runs on our own Node.
    const main = 'apps/embedded/main.ts';
    const entries = [main, ...importsOf(read(main)!).map(({ specifier }) => targetOf(main, specifier)!)];
    const chains = entries.flatMap((entry) => [...staticClosure(entry, read)]);
    expect(chains.map(([target]) => target)).toEqual(expect.arrayContaining(['apps/query/query.module.ts', 'libs/runtime/embedded.ts']));
    const loaded = chains.filter(([target]) => packages.includes(target) || foreign.some((name) => target.startsWith(`libs/${name}/`)));
    expect(loaded.map(([, chain]) => chain.join(' → '))).toEqual([]);
  });

  it('one file opens QuestDB, and all others know the port only', () => {
    const others = files.filter((path) => unitOf(path) !== 'questdb' && !path.endsWith('.spec.ts'));
    expect(others.filter((path) => importsOf(read(path)!).some(({ specifier }) => specifier === '#questdb'))).toHaveLength(1);
  });

  it('few rooms know each other', () => {
    const most = 45;
    const arrows = new Set<string>();
    for (const path of files.filter((file) => !file.endsWith('.spec.ts'))) {
      for (const { specifier } of importsOf(read(path)!)) {
        const target = targetOf(path, specifier);
        if (target && roomOf(target) !== roomOf(path)) arrows.add(`${roomOf(path)} → ${roomOf(target)}`);
      }
    }
    expect(arrows.size > most ? [...arrows].sort() : []).toEqual([]);
  });

  it.each(globSync('*', { cwd: `${root}libs` }).sort())('%s has seven floors inside at most', (lib) => {
    const its = files.filter((path) => path.startsWith(`libs/${lib}/`) && !path.endsWith('.spec.ts'));
    expect(floorsOf(its, (path) => read(path)!)).toBeLessThanOrEqual(7);
  });

  it('the table has no arrow back', () => {
    const reach = (unit: string, seen = new Set<string>()): Set<string> => {
      for (const next of mayImport[unit] ?? []) if (!seen.has(next)) reach(next, seen.add(next));
      return seen;
    };
    const libs = Object.keys(mayImport).filter((unit) => !['embedded', 'cli', 'infra'].includes(unit));
    expect(libs.filter((unit) => reach(unit).has(unit))).toEqual([]);
  });
});

describe('a planted arrow is found', () => {
  it.each([
    ['libs/model/a.ts', `import { x } from '#log';`, 'model may import nothing of ours'],
    ['libs/model/a.ts', `import { readFileSync } from 'node:fs';`, 'model is pure'],
    ['libs/model/a.ts', `import { Injectable } from '@nestjs/common';`, 'model is pure'],
    ['libs/stores/a.ts', `export * from '#topics';`, 'stores may import model'],
    ['libs/topics/a.ts', `import type { S } from '#stores';`, 'topics may import model, log'],
    ['libs/edge/a.ts', `import { open } from '#sqlite';`, 'edge may import'],
    ['libs/runtime/a.ts', `import { open } from '#sqlite';`, 'runtime loads an adapter by import()'],
    ['libs/runtime/a.ts', `import { open } from '#testing';`, 'runtime may import'],
    ['libs/sqlite/a.ts', `import { x } from '#sqlite';`, 'inside sqlite an import is relative'],
    ['libs/sqlite/a.ts', `import { x } from '../log/view.js';`, 'log is entered through its index, as #log'],
    ['libs/sqlite/a.spec.ts', `import { x } from '#log/view';`, 'log is entered through its index, as #log'],
    ['libs/log/a.ts', `import { Kafka } from 'kafkajs';`, 'kafkajs is imported by kafka and infra only'],
    ['apps/query/a.ts', `const pg = await import('pg');`, 'pg is imported by questdb only'],
    ['apps/query/a.ts', `import { DatabaseSync } from 'node:sqlite';`, 'node:sqlite is imported by sqlite and infra only'],
    ['libs/edge/a.ts', `import { pino } from 'pino';`, 'pino is imported by runtime only'],
    ['apps/control/a.ts', `import { pino } from 'pino';`, 'pino is imported by runtime only'],
    ['apps/query/query.module.ts', `import { run } from '#runtime';`, 'its main.ts also runtime and launch'],
    ['apps/query/a.ts', `import { x } from '../control/keys.js';`, 'query may import'],
    ['apps/cli/rebuild.ts', `const { rebuild } = await import('#sqlite');`, 'cli may import'],
    ['apps/console/a.ts', `import { x } from '#edge';`, 'console may import model'],
    ['infra/bench/a.ts', `import { x } from '../../apps/query/a.js';`, 'infra talks to a server over HTTP'],
    ['infra/bench/a.ts', `import { x } from '#kafka';`, 'infra may import runtime, client'],
    ['libs/helpers/a.ts', `import { x } from '#model';`, 'helpers is not a part of the architecture'],
  ])('%s: %s', (path, text, rule) => {
    expect(breaches(path, `// first line\n${text}\n`)).toEqual([expect.stringContaining(rule)]);
    expect(breaches(path, `// first line\n${text}\n`)[0]).toContain(`${path}:2 `);
  });

  it.each([
    ['libs/model/a.ts', `import { createHash } from 'node:crypto';`],
    ['libs/runtime/a.ts', `const { open } = await import('#sqlite');`],
    ['libs/runtime/a.ts', `import type { DataFolder } from '#sqlite';`],
    ['libs/sqlite/a.ts', `import { DatabaseSync } from 'node:sqlite';`],
    ['libs/sqlite/a.spec.ts', `import { contract } from '#testing';`],
    ['apps/query/main.ts', `import { run } from '#runtime';`],
    ['apps/embedded/embedded.module.ts', `import { QueryModule } from '../query/query.module.js';`],
    ['apps/cli/rebuild.ts', `import { onFolder } from '#runtime';`],
    ['apps/query/a.ts', `import { x } from './b.js';`],
  ])('and this is none: %s: %s', (path, text) => {
    expect(breaches(path, text)).toEqual([]);
  });

  it('floors are counted from the ground, with a folder as one room', () => {
    const texts: Record<string, string> = {
      'libs/log/index.ts': `export * from './a.js'; export * from './b/c.js';`,
      'libs/log/a.ts': `import type { D } from './b/d.js'; import '#model';`,
      'libs/log/b/c.ts': `import './d.js';`,
      'libs/log/b/d.ts': `import '../e.js';`,
      'libs/log/e.ts': '',
    };
    expect(floorsOf(Object.keys(texts), (path) => texts[path]!)).toBe(4);
  });

  it('a chain of static imports is followed, a dynamic one is not', () => {
    const texts: Record<string, string> = {
      'apps/embedded/main.ts': `import '#runtime';`,
      'libs/runtime/index.ts': `export * from './a.js'; const b = () => import('#kafka');`,
      'libs/runtime/a.ts': `import { Kafka } from 'kafkajs'; import type { Pool } from 'pg';`,
    };
    const found = staticClosure('apps/embedded/main.ts', (path) => texts[path]);
    expect([...found.keys()]).toEqual(['apps/embedded/main.ts', 'libs/runtime/index.ts', 'libs/runtime/a.ts', 'kafkajs']);
  });
});

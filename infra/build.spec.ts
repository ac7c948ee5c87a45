import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

/** A project of one file with our compiler in it, or without. */
function project() {
  const folder = mkdtempSync(join(tmpdir(), 'headwater-build-'));
  const write = (path: string, text: string): void => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  for (const name of ['apps', 'libs', 'infra', 'node_modules']) mkdirSync(join(folder, name));
  mkdirSync(join(folder, 'libs/client/dist'), { recursive: true });
  for (const file of ['build.js', 'bundle.js']) copyFileSync(`infra/${file}`, join(folder, 'infra', file));
  const compilerOptions = { outDir: 'dist', rootDir: '.', types: [], lib: ['es2024', 'dom'], skipLibCheck: true };
  write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['apps/**/*.ts', 'libs/**/*.ts'] }));
  write('package-lock.json', '{}');
  write('package.json', '{ "type": "module" }');
  write('apps/tool/main.ts', 'export const a: number = 1;\n');
  const compiler = join(folder, 'node_modules/typescript');
  symlinkSync(join(process.cwd(), 'node_modules/typescript'), compiler);
  symlinkSync(join(process.cwd(), 'node_modules/rolldown'), join(folder, 'node_modules/rolldown'));
  return {
    write,
    touch: (path: string): void => utimesSync(join(folder, path), 1, 1),
    removeCompiler: (): void => rmSync(compiler),
    removeBundler: (): void => rmSync(join(folder, 'node_modules/rolldown')),
    /** What a bundled app prints. */
    run: (app: string): string => execFileSync(process.execPath, [join(folder, `dist/bundled/${app}.js`)], { encoding: 'utf8' }).trim(),
    built: (): string => readFileSync(join(folder, 'dist/apps/tool/main.js'), 'utf8'),
    /** Runs the script of `npm start`: what it said and whether it succeeded. */
    build: (): { said: string; isBuilt: boolean } => {
      const { status, stderr, stdout } = spawnSync(process.execPath, [join(folder, 'infra/build.js')], { encoding: 'utf8' });
      return { said: (stderr + stdout).trim(), isBuilt: status === 0 };
    },
  };
}

const compiled = { said: 'compiling, once', isBuilt: true };
const asItIs = { said: '', isBuilt: true };

describe('a start', () => {
  it('compiles what changed in content, and nothing else', () => {
    const { build, built, touch, write } = project();
    expect([build(), build()]).toEqual([compiled, asItIs]);
    touch('apps/tool/main.ts');
    write('libs/client/dist/index.d.ts', 'export {};\n');
    expect(build()).toEqual(asItIs);
    write('apps/tool/main.ts', 'export const a: number = 2;\n');
    // Older than what was built from the file before, as after unpacking a release over another one.
    touch('apps/tool/main.ts');
    expect([build(), build()]).toEqual([compiled, asItIs]);
    expect(built()).toContain('a = 2');
  });

  it.each([true, false])('brings each app to one place, and its modules find the files beside them; with a bundler: %s', (hasBundler) => {
    const { build, removeBundler, run, write } = project();
    if (!hasBundler) removeBundler();
    write('libs/there.ts', 'export const there: string = import.meta.url;\n');
    write(
      'apps/one/main.ts',
      "import { there } from '../../libs/there.js';\nconsole.log(new URL('../schemas/one.json', there).pathname);\n",
    );
    write('apps/other/main.ts', "export {};\nconsole.log((await import('../../libs/there.js')).there);\n");
    expect(build()).toEqual(compiled);
    expect([run('one'), run('other')]).toEqual([
      expect.stringMatching(/dist\/schemas\/one\.json$/),
      expect.stringMatching(/dist\/libs\/there\.js$/),
    ]);
  });

  it.each([true, false])('brings the file of a thread beside what begins the thread; with a bundler: %s', (hasBundler) => {
    const { build, removeBundler, run, write } = project();
    if (!hasBundler) removeBundler();
    write('libs/there.ts', "export const there: string = new URL('../schemas/one.json', import.meta.url).pathname + ' …';\n");
    write('libs/deep/say.worker.ts', "import { there } from '../there.js';\nconsole.log(there);\n");
    write('libs/deep/begin.ts', "export const thread: string = new URL('./say.worker.js', import.meta.url).pathname;\n");
    write('apps/one/main.ts', "import { thread } from '../../libs/deep/begin.js';\nconsole.log(thread);\n");
    expect(build()).toEqual(compiled);
    const thread = run('one');
    expect(thread).toMatch(hasBundler ? /dist\/bundled\/say\.worker\.js$/ : /dist\/libs\/deep\/say\.worker\.js$/);
    expect(execFileSync(process.execPath, [thread], { encoding: 'utf8' })).toMatch(/dist\/schemas\/one\.json …\n$/);
  });

  it('compiles again after an error', () => {
    const { build, write } = project();
    write('apps/tool/main.ts', 'export const a: number = "";\n');
    expect(build()).toEqual({ said: expect.stringContaining('TS2322'), isBuilt: false });
    write('apps/tool/main.ts', 'export const a: number = 3;\n');
    expect([build(), build()]).toEqual([compiled, asItIs]);
  });

  it('needs no compiler for what is built, and says what to do when it needs one', () => {
    const { build, removeCompiler, write } = project();
    build();
    removeCompiler();
    expect(build()).toEqual(asItIs);
    write('apps/tool/main.ts', 'export const a: number = 2;\n');
    expect(build()).toEqual({ said: expect.stringContaining('run `npm ci && npm run build` first'), isBuilt: false });
  });
});

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

interface Bundled {
  readonly kilobytes: number;
  readonly zippedKilobytes: number;
  readonly imports: readonly string[];
}

const path = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

async function bundled(file: string, names: string): Promise<Bundled> {
  const { stdout } = await promisify(execFile)(process.execPath, [path('test-bundle.js'), path(file), names]);
  return JSON.parse(stdout) as Bundled;
}

describe('the bundle for browsers', () => {
  it.each([
    ['{ Device }', 17.7, 7.8],
    ['{ Headwater }', 10.6, 4.8],
    ['*', 25.1, 10.7],
  ] as const)('of %s has at most %d KB minified, %d KB compressed, and needs nothing', async (names, kilobytes, zippedKilobytes) => {
    const bundle = await bundled('browser.js', names);
    expect(bundle.imports).toEqual([]);
    expect(bundle.kilobytes).toBeLessThanOrEqual(kilobytes);
    expect(bundle.zippedKilobytes).toBeLessThanOrEqual(zippedKilobytes);
  });

  it('has nothing of files, which the one for Node has', async () => {
    const { imports } = await bundled('index.js', '*');
    expect([...imports].sort()).toEqual(['node:fs', 'node:fs/promises', 'node:os', 'node:path', 'node:zlib']);
  });
});

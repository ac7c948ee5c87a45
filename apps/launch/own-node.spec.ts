import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, copyFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { platformPackages } from './own-node.js';

const launch = fileURLToPath(new URL('own-node.js', import.meta.url));
const beOld = 'if (!process.env.OWN) Object.defineProperty(process, "version", { value: "v20.1.0" });';
const program = 'import { onOwnNode } from "./own-node.mjs"; await onOwnNode(async () => eval(process.argv[2]));';
const platform = `${process.platform}-${process.arch}`;
const ownPackage = `node_modules/${platformPackages[platform]}`;
const ownNode = `#!/bin/sh\nOWN=yes exec '${process.execPath}' "$@"\n`;

/** A project with the program in it, and with the package that holds a Node of this version, whose binary is the Node of this test. */
function project(ownVersion: string | undefined, binary = ownNode): string {
  const folder = mkdtempSync(join(tmpdir(), 'headwater-launch-'));
  copyFileSync(launch, join(folder, 'own-node.mjs'));
  writeFileSync(join(folder, 'old.mjs'), beOld);
  writeFileSync(join(folder, 'main.mjs'), program);
  if (ownVersion === undefined) return folder;
  mkdirSync(join(folder, ownPackage, 'bin'), { recursive: true });
  writeFileSync(join(folder, ownPackage, 'package.json'), JSON.stringify({ version: ownVersion, bin: { node: 'bin/node' } }));
  writeFileSync(join(folder, ownPackage, 'bin/node'), binary, { mode: 0o755 });
  return folder;
}

function start(folder: string, script: string, ...nodeFlags: string[]) {
  const child = spawn(process.execPath, [...nodeFlags, join(folder, 'main.mjs'), script]);
  const ended = once(child, 'close') as Promise<[number | null, string | null]>;
  return { child, ended, stdout: text(child.stdout), stderr: text(child.stderr) };
}

const old = (folder: string): string[] => ['--import', join(folder, 'old.mjs')];

const needed = 'Headwater needs Node 24 or newer and this is v20.1.0:';
const anyNode = 'Node 24 or newer from https://nodejs.org.\n';

describe('started by', () => {
  it('Node 24, it starts', async () => {
    const { ended, stdout } = start(project(undefined), 'console.log("here", process.env.OWN)');
    expect([await stdout, await ended]).toEqual(['here undefined\n', [0, null]]);
  });

  it("an older Node, it starts on the project's own and ends as that ends", async () => {
    const folder = project('24.1.0');
    const { ended, stdout } = start(folder, 'console.log("here", process.env.OWN); process.exitCode = 7', ...old(folder));
    expect([await stdout, await ended]).toEqual(['here yes\n', [7, null]]);
  });

  it.each([['none'], ['22.9.0']])('an older Node, with %s in the project, it says what to do', async (version) => {
    const folder = project(version === 'none' ? undefined : version);
    const { ended, stdout, stderr } = start(folder, 'console.log("here")', ...old(folder));
    expect([await stdout, await ended]).toEqual(['', [1, null]]);
    expect(await stderr).toBe(`${needed} run \`npm ci\` in its folder, which brings one, or install ${anyNode}`);
  });

  it('an older Node on a platform that npm has no Node for, it says what to install', async () => {
    const folder = project('24.1.0');
    writeFileSync(join(folder, 'old.mjs'), `${beOld} Object.defineProperty(process, "platform", { value: "freebsd" });`);
    const { ended, stderr } = start(folder, 'console.log("here")', ...old(folder));
    expect([await stderr, await ended]).toEqual([`${needed} npm has none for freebsd-${process.arch}, so install ${anyNode}`, [1, null]]);
  });

  it('an older Node where the one in the project does not run, as a glibc binary on Alpine, it says what to install', async () => {
    const folder = project('24.1.0', '#!/lib/no-such-loader\n');
    const { ended, stderr } = start(folder, 'console.log("here")', ...old(folder));
    expect(await ended).toEqual([1, null]);
    expect(await stderr).toMatch(
      /^Headwater needs .*: the one in node_modules does not run here \(spawn .* ENOENT\), so install Node 24 or newer from .*\n$/,
    );
  });

  it('an older Node that was handed over to already, it says what to do and starts no other', async () => {
    const folder = project('24.1.0');
    writeFileSync(join(folder, 'old.mjs'), beOld.replace('if (!process.env.OWN) ', ''));
    const { ended, stderr } = start(folder, 'console.log("here")', ...old(folder));
    expect([await stderr, await ended]).toEqual([expect.stringContaining(needed), [1, null]]);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('an older Node, %s goes on to the other', async (signal) => {
    const folder = project('24.1.0');
    const wait = `process.on("${signal}", () => process.exit(9)); console.error("ready"); setInterval(() => undefined, 1000)`;
    const { child, ended } = start(folder, wait, ...old(folder));
    child.stderr.once('data', () => child.kill(signal));
    expect(await ended).toEqual([9, null]);
  });

  it('an older Node, it dies of the signal that the other died of', async () => {
    const folder = project('24.1.0');
    const { ended } = start(folder, 'process.kill(process.pid, "SIGTERM")', ...old(folder));
    expect(await ended).toEqual([null, 'SIGTERM']);
  });
});

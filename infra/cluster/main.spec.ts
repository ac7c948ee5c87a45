import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { lockFolder } from './lock-folder.js';

const main = fileURLToPath(new URL('main.js', import.meta.url));
const newFolder = (): string => mkdtempSync(join(tmpdir(), 'headwater-cluster-'));

/** What `npm run cluster` says until it ends. */
async function cluster(folder: string, port: number): Promise<{ readonly code: unknown; readonly said: string }> {
  const env = { PATH: process.env['PATH'], HEADWATER_DATA: folder, HEADWATER_HOST: '127.0.0.1', HEADWATER_PORT: `${port}` };
  const child = spawn(process.execPath, ['--no-warnings', main], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  return { code, said };
}

/** A port that is taken for as long as this lasts. */
async function taken<T>(use: (port: number) => Promise<T>): Promise<T> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await use((server.address() as AddressInfo).port);
  } finally {
    server.close();
  }
}

describe('a cluster starts nothing', () => {
  it('in a folder that another one has, and names that one', async () => {
    const folder = newFolder();
    const lock = await lockFolder(folder, 'http://localhost:1234');
    const { code, said } = await cluster(folder, 1);
    lock.release();
    const which = `A cluster is already running on ${folder}: process ${process.pid}, at http://localhost:1234. Use it, end it with`;
    expect([code, said]).toEqual([1, expect.stringContaining(which)]);
    expect(said.trim().split('\n')).toHaveLength(2);
  });

  it('when its port is taken, and names the setting; the folder is free afterwards', async () => {
    const folder = newFolder();
    const { code, said, port } = await taken(async (at) => ({ port: at, ...(await cluster(folder, at)) }));
    expect([code, said.split('\n')[0]]).toEqual([
      1,
      `Port ${port} of 127.0.0.1 is taken by another program: end it, or choose another port with HEADWATER_PORT.`,
    ]);
    (await lockFolder(folder, '')).release();
  });
});

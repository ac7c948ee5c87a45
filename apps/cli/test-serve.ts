import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll } from '@jest/globals';

export const root = fileURLToPath(new URL('../../../', import.meta.url));
/** The file that npm links as `headwater`. */
export const bin = root + (JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { bin: { headwater: string } }).bin.headwater;

const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** Starts `headwater serve` as npm links it, and reads where it listens and its first key. */
export async function serve(data: string): Promise<{ child: ChildProcess; url: string; apiKey: string | undefined }> {
  const child = spawn(bin, ['serve'], {
    env: { PATH: `${root}node_modules/.bin:${process.env['PATH']}`, HEADWATER_DATA: data, HEADWATER_PORT: '0', HEADWATER_ADMIN_PORT: '0' },
  });
  children.push(child);
  let welcome = '';
  let log = '';
  child.stdout.on('data', (chunk: Buffer) => (welcome += chunk.toString()));
  const url = await new Promise<string>((resolve, reject) => {
    child.on('exit', () => reject(new Error(`the server did not listen: ${log}`)));
    child.stderr.on('data', (chunk: Buffer) => {
      log += chunk.toString();
      const listening = /"msg":"listening on ([^"]+)"/.exec(log);
      if (listening) resolve(listening[1]!);
    });
  });
  return { child, url, apiKey: /^ +(hw_\w+)$/m.exec(welcome)?.[1] };
}

export async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  child.kill(signal);
  return ((await once(child, 'exit')) as [number | null])[0];
}

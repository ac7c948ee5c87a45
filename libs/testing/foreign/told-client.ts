import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { endWithUs } from '../../../infra/servers/index.js';
import { Page } from './chromium.js';

/** A client of Headwater on some runtime. It does what it is told with the words of `client-verbs.mjs`. */
export interface ToldClient {
  tell(verb: string, argument?: unknown): Promise<unknown>;
  end(): Promise<void>;
}

export interface ClientProcess extends ToldClient {
  /** Rejects when the process does not end by itself, or complains. */
  end(): Promise<void>;
  /** kill -9. Resolves when the process is gone. */
  kill(): Promise<void>;
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

const verbs = 'client-verbs.mjs';
const main = 'client-process.mjs';
const endMs = 10_000;

/** Puts what clients are told into a folder where the library is installed. Resolves to all of it as one script for browsers. */
export async function teach(folder: string): Promise<string> {
  for (const file of [verbs, main]) cpSync(join('libs/testing/foreign', file), join(folder, file));
  const options = ['--platform', 'browser', '--format', 'iife', '--name', 'client', '--file', 'page.js'];
  // In a process of its own, because the bundler does not work within jest.
  await promisify(execFile)(process.execPath, [resolve('node_modules/rolldown/bin/cli.mjs'), verbs, ...options], { cwd: folder });
  return readFileSync(join(folder, 'page.js'), 'utf8');
}

export function clientInProcess([program, ...options]: readonly string[], cwd: string, env: NodeJS.ProcessEnv): ClientProcess {
  const child = spawn(program!, [...options, main], { cwd, env, stdio: 'pipe' });
  const ended: Promise<unknown[]> = once(child, 'close').catch((error: unknown) => [error]);
  const waiting: PromiseWithResolvers<unknown>[] = [];
  let complaints = '';
  endWithUs(child);
  child.stdin.on('error', () => undefined);
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  createInterface(child.stdout).on('line', (line) => {
    const { id, result, error } = JSON.parse(line) as Answer;
    if (error === undefined) waiting[id]!.resolve(result);
    else waiting[id]!.reject(new Error(error));
  });
  const failure = ([code, signal]: readonly unknown[]): Error =>
    new Error(`the client ended with ${String(code ?? signal)}: ${complaints}`);
  child.once('close', (...how) => {
    for (const { reject } of waiting) reject(failure(how));
  });

  return {
    tell(verb, argument) {
      const answer = Promise.withResolvers<unknown>();
      // Somebody may only look at it later.
      answer.promise.catch(() => undefined);
      const id = waiting.push(answer) - 1;
      child.stdin.write(`${JSON.stringify({ id, verb, argument })}\n`);
      return answer.promise;
    },
    async end() {
      child.stdin.end();
      const limit = setTimeout(() => child.kill('SIGKILL'), endMs);
      const how = await ended;
      clearTimeout(limit);
      if (how[0] !== 0 || complaints) throw failure(how);
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** @param url of a page of the server. */
export async function clientInPage(url: string, script: string): Promise<ToldClient> {
  const page = await Page.open(url);
  await page.run(`() => { ${script}\n globalThis.client = client; }`, null);
  return {
    tell(verb, argument) {
      const answer = page.run(`(argument) => client.verbs.${verb}(argument)`, argument ?? null);
      answer.catch(() => undefined);
      return answer;
    },
    end: () => page.close(),
  };
}

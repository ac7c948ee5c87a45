import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onFolder, type Running } from '#runtime';
import { eventually } from '../eventually.js';
import { Visitor } from '../api/visitor.js';
import type { Credentials } from '../deployment.js';
import { send } from '../http/send.js';
import { makeKey } from '../make-keys.js';

/** Where data folders lie that earlier versions have made; the README there says more. */
export const oldFolders = fileURLToPath(new URL('../../../../libs/testing/data/old-folders/', import.meta.url));

/** All of them: a version that is new here only adds a file. */
export const oldFolderNames: readonly string[] = readdirSync(oldFolders).flatMap((file) => /^(.*)\.tar\.gz$/.exec(file)?.[1] ?? []);

/** What the version that made a folder answered to one caller. */
export interface Asked {
  readonly orgId: string;
  /** Who asked: a person, or a key with all scopes. Null is a key whose secret was not kept: a new key of the organization asks instead. */
  readonly by: Credentials | string | null;
  /** By the path of the request. */
  readonly answers: Readonly<Record<string, unknown>>;
}

export interface OldAnswers {
  /** The clock of its server then, Unix milliseconds. */
  readonly atMs: number;
  readonly deadLetters: number;
  readonly asked: readonly Asked[];
}

const answersFile = (name: string): string => join(oldFolders, `${name}.answers.json`);

export const oldAnswers = (name: string): OldAnswers => JSON.parse(readFileSync(answersFile(name), 'utf8')) as OldAnswers;

/** A copy of such a folder. */
export function unpackedOldFolder(name: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'headwater-old-'));
  execFileSync('tar', ['xzf', join(oldFolders, `${name}.tar.gz`), '-C', dir]);
  return dir;
}

/** The same answers, with a new key wherever the secret of the old one was not kept. No server may have the folder open. */
export const withKeys = (dir: string, { asked, ...others }: OldAnswers): Promise<OldAnswers> =>
  onFolder(async ({ openStorage }) => {
    if (asked.every(({ by }) => by !== null)) return { ...others, asked };
    const storage = await openStorage(dir);
    const known = await Promise.all(asked.map(async (one) => ({ ...one, by: one.by ?? (await makeKey(storage.log, one.orgId)).secret })));
    await storage.close();
    return { ...others, asked: known };
  });

/** What a server answers somebody at these paths. */
export async function answersOf({ url }: Running, by: Asked['by'], paths: readonly string[]): Promise<Record<string, unknown>> {
  const headers =
    typeof by === 'string' ? { 'x-api-key': by } : { cookie: await new Visitor((ask) => send(url, ask), by ?? undefined).cookie() };
  const answers: Record<string, unknown> = {};
  for (const path of paths) {
    const { status, text } = await send(url, { path, headers });
    if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${text}`);
    answers[path] = JSON.parse(text);
  }
  return answers;
}

/** Resolves when no consumer group has records left to take. */
export const settled = (server: Running): Promise<void> =>
  eventually(async () => {
    const lags = await figures(server, 'headwater_group_lag_records');
    if (lags.length === 0 || lags.some((lag) => lag > 0)) throw new Error(`the consumer groups lag by ${lags.join(', ')}`);
  });

/** How many dead letters wait on a server. */
export const deadLettersOf = async (server: Running): Promise<number> =>
  (await figures(server, 'headwater_dead_letters')).reduce((sum, count) => sum + count, 0);

async function figures({ adminUrl }: Running, metric: string): Promise<readonly number[]> {
  const { text } = await send(adminUrl, { path: '/metrics' });
  return [...text.matchAll(new RegExp(`^${metric}{.*} (\\d+)$`, 'gm'))].map(([, figure]) => Number(figure));
}

import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { OperatorError } from '#model';
import { onFolder } from '#runtime';
import { expectOldAnswers, isLong, oldAnswers, Random, unpackedOldFolder } from '#testing';
import { projectorsOf } from '../processors/projectors-of.js';
import { newFolder, run, type Ran, type RunOptions } from './test-run.js';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const kills = isLong ? 25 : 1;
/** Elsewhere a limit of the size of files has other units. */
const isLimited = process.platform === 'linux';
const whole = '0.2.0-stopped';

/** A command that changes files. */
interface Job {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What is true whenever the command was ended. */
  readonly ended: () => Promise<void>;
  /** What is true once it has come to its end. */
  readonly done: () => Promise<void>;
}

/** What the tests are done with. */
interface Row {
  readonly begin: () => Job | Promise<Job>;
  /** The command makes at least this many calls that change files. */
  readonly calls: number;
  /** Blocks of 512 bytes to which a full disk limits files. */
  readonly blocks: readonly number[];
}

/** What lasts of the files below a folder. */
const filesIn = (dir: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .filter((name) => !/lock|-wal$|-shm$/.test(name) && statSync(join(dir, name)).isFile())
      .map((name) => [name, readFileSync(join(dir, name), 'base64')]),
  );

const verified = async (data: string): Promise<void> =>
  expect(await onFolder(({ verify }) => verify(data, projectorsOf))).toMatchObject({ differences: 0, first: [] });

/** Restores a backup to a new folder: undefined when it is refused. */
async function restored(backup: string): Promise<string | undefined> {
  const to = join(newFolder(), 'data');
  const error: unknown = await onFolder(({ restore }) => restore(backup, to)).catch((cause: unknown) => cause);
  if (!(error instanceof Error)) return to;
  expect(error).toBeInstanceOf(OperatorError);
  expect(existsSync(to)).toBe(false);
  return undefined;
}

function aBackup(name: string): Job {
  const [data, to] = [unpackedOldFolder(whole), join(newFolder(), name)];
  const before = filesIn(data);
  const ended = async (): Promise<void> => {
    expect(filesIn(data)).toEqual(before);
    const copy = await restored(to);
    if (copy) await verified(copy);
  };
  const done = async (): Promise<void> => expect(await restored(to)).toBeDefined();
  return { args: ['backup', to, '--data', data], ended, done };
}

async function aRestore(): Promise<Job> {
  const [from, to] = [join(newFolder(), 'backup'), join(newFolder(), 'data')];
  await onFolder((folders) => folders.backup({ data: unpackedOldFolder(whole) }, from));
  const before = filesIn(from);
  const ended = async (): Promise<void> => {
    expect(filesIn(from)).toEqual(before);
    const format = existsSync(join(to, 'FORMAT')) ? readFileSync(join(to, 'FORMAT'), 'utf8') : undefined;
    // Without it there is nothing yet that a server could take for a folder of its own.
    if (format === undefined) return expect(existsSync(join(to, 'log'))).toBe(false);
    if (format.startsWith('unfinished')) {
      const opening = onFolder(({ openStorage }) => openStorage(to));
      return expect(opening).rejects.toThrow('run `headwater restore` again');
    }
    await verified(to);
    // What is whole takes no other restore.
    rmSync(to, { recursive: true });
  };
  return {
    args: ['restore', from, '--data', to],
    ended,
    done: () => expectOldAnswers(to, oldAnswers(whole)),
  };
}

function aTrim(): Job {
  const data = unpackedOldFolder(whole);
  // The list of devices has those that stay, until all of it is done.
  const ended = async (): Promise<void> => {
    const { first } = await onFolder(({ verify }) => verify(data, projectorsOf));
    expect(first.filter(({ what }) => what !== 'source')).toEqual([]);
  };
  const done = async (): Promise<void> => {
    await verified(data);
    await expectOldAnswers(data, oldAnswers(whole), '/v1/sources/press-1/');
  };
  return { args: ['trim', '--data', data, '--keep', 'press-*', '--yes'], ended, done };
}

function aRebuild(): Job {
  const data = unpackedOldFolder(whole);
  const done = (): Promise<void> => expectOldAnswers(data, oldAnswers(whole));
  return { args: ['rebuild', '--data', data], ended: () => verified(data), done };
}

/** The first start on a folder of an earlier version. */
function anUpgrade(name: string): Job {
  const data = unpackedOldFolder(name);
  const env = { HEADWATER_DATA: data, HEADWATER_PORT: '0', HEADWATER_ADMIN_PORT: '0' };
  return {
    args: ['serve'],
    env,
    ended: async () => undefined,
    done: () => expectOldAnswers(data, oldAnswers(name)),
  };
}

const rows: readonly (readonly [name: string, row: Row])[] = [
  ['a backup into a file', { begin: () => aBackup('backup.tar'), calls: 30, blocks: [100, 400] }],
  ['a restore', { begin: aRestore, calls: 30, blocks: [100, 400] }],
  ['a trim', { begin: aTrim, calls: 30, blocks: [10] }],
  // In the second case the log has room, and the schemas that are new have not.
  ['the upgrade of 74477d6-killed', { begin: () => anUpgrade('74477d6-killed'), calls: 90, blocks: [20, 200] }],
  ['a backup into a folder', { begin: () => aBackup('backup'), calls: 40, blocks: [100, 400] }],
  ['a rebuild', { begin: aRebuild, calls: 300, blocks: [100] }],
  ['the upgrade of e88cbb3-killed', { begin: () => anUpgrade('e88cbb3-killed'), calls: 90, blocks: [20] }],
];

/** Runs the command of a job; a server is stopped as soon as it listens. */
const attempt = ({ args, env = {} }: Job, options: RunOptions = {}): Promise<Ran> =>
  run(args, {
    env,
    during: (child) => child.stderr!.on('data', (said: Buffer) => said.includes('listening on') && child.kill('SIGTERM')),
    ...options,
  });

it.each(isLong ? rows : rows.slice(0, 4))(
  `%s spoils nothing on a full disk, nor when it is killed, and comes to its end later (SEED=${seed})`,
  async (_, { begin, calls, blocks: blocksOf }) => {
    const random = new Random(seed);
    for (const blocks of isLimited ? (isLong ? blocksOf : [random.pick(blocksOf)]) : []) {
      const job = await begin();
      const { code, stderr } = await attempt(job, { blocks });
      expect([blocks, code, stderr]).toEqual([blocks, 1, expect.stringMatching(/full|make room|free space/i)]);
      await job.ended();
      expect(await attempt(job)).toMatchObject({ code: 0 });
    }
    const codes: (number | string)[] = [];
    let job: Job | undefined;
    for (let kill = 1; kill <= kills; kill++) {
      job ??= await begin();
      const { code } = await attempt(job, { deathAt: random.whole(1, calls) });
      codes.push(code);
      await job.ended();
      // What is left to do after a death may be done before the next one comes.
      if (kill < kills && code === 'SIGKILL' && random.chance(0.5)) continue;
      expect(await attempt(job)).toMatchObject({ code: 0 });
      await job.done();
      job = undefined;
    }
    expect(codes.filter((code) => code !== 0 && code !== 'SIGKILL')).toEqual([]);
    expect(codes[0]).toBe('SIGKILL');
  },
  600_000,
);

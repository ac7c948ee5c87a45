import { existsSync, linkSync, readFileSync, renameSync, statSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { HeadwaterError } from '../../error.js';

/** Who holds a folder. A process is known by more than its number, which another process gets after a restart. */
interface Holder {
  readonly host: string;
  readonly pid: number;
  /** When the process began, as the kernel counts; empty where that cannot be known. */
  readonly began: string;
}

const touchMs = 15_000;
/** The processes of another host or container cannot be seen: their lock counts for so long after they touched it last. */
const foreignMs = 60_000;

/** Keeps a second process out of a folder. The lock of a process that was killed counts no more. */
export class FolderLock {
  readonly #path: string;
  readonly #timer: ReturnType<typeof setInterval>;

  /** @throws HeadwaterError `buffer_in_use`, or what the file system throws. */
  constructor(folder: string) {
    this.#path = join(folder, 'lock');
    this.#take(folder);
    this.#timer = setInterval(() => this.#touch(), touchMs).unref();
  }

  release(): void {
    clearInterval(this.#timer);
    attempt(() => unlinkSync(this.#path));
  }

  #take(folder: string): void {
    const mine: Holder = { host: hostname(), pid: process.pid, began: beganOf(process.pid) };
    for (let tries = 0; tries < 10; tries++) {
      try {
        return writeFileSync(this.#path, JSON.stringify(mine), { flag: 'wx' });
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        // On a full disk the lock file may be created without its content. It still locks the folder while its time of change is kept fresh.
        if (code === 'ENOSPC' && existsSync(this.#path)) return;
        if (code !== 'EEXIST') throw error;
      }
      const text = attempt(() => readFileSync(this.#path, 'utf8'));
      if (text !== undefined && this.#isHeld(text, mine)) throw inUse(folder, text);
      if (text !== undefined) this.#remove(text);
    }
    throw inUse(folder, '');
  }

  #isHeld(text: string, mine: Holder): boolean {
    const holder = attempt(() => JSON.parse(text) as Holder);
    const agoMs = Date.now() - (attempt(() => statSync(this.#path).mtimeMs) ?? 0);
    // Whoever holds it may just be about to write its name.
    if (!holder) return Math.abs(agoMs) < foreignMs;
    if (holder.host !== mine.host) return Math.abs(agoMs) < foreignMs;
    return isAlive(holder.pid) && beganOf(holder.pid) === holder.began;
  }

  /** Removes the lock with this text, and puts it back when another process was faster and it is that one's lock by now. */
  #remove(text: string): void {
    const aside = `${this.#path}.${process.pid}.${performance.now()}`;
    if (attempt(() => (renameSync(this.#path, aside), true)) === undefined) return;
    if (attempt(() => readFileSync(aside, 'utf8')) !== text) attempt(() => linkSync(aside, this.#path));
    attempt(() => unlinkSync(aside));
  }

  #touch(): void {
    const now = new Date();
    attempt(() => utimesSync(this.#path, now, now));
  }
}

const inUse = (folder: string, holder: string): HeadwaterError =>
  new HeadwaterError(
    `The folder ${folder} is the buffer of another device, which runs now${holder && ` (${holder})`}: give each device a folder of its own.`,
    'buffer_in_use',
  );

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Linux says when a process began, and in which run of the machine. */
function beganOf(pid: number): string {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  const boot = attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')) ?? '';
  return stat === undefined ? '' : `${boot.trim()} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
}

function attempt<T>(what: () => T): T | undefined {
  try {
    return what();
  } catch {
    return undefined;
  }
}

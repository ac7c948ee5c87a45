import { statSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { gauge, type Metric } from '#model';

const lookMs = 2_000;
/** With less than this part of a disk left, the operator is warned. */
const low = 0.1;
/** Twice what one commit writes at most: a disk with less free space counts as full. */
const fullBytes = 16 << 20;

interface Space {
  readonly freeBytes: number;
  readonly bytes: number;
}

/** The disk that a file is on, and whether the file is still at its place. It looks every few seconds. */
export class Disk {
  readonly #timer: NodeJS.Timeout;
  readonly #inode: number;
  #space: Space | undefined;
  #isGone = false;

  /** @param file that is open and exists. */
  constructor(private readonly file: string) {
    this.#inode = statSync(file).ino;
    this.#timer = setInterval(() => void this.look(), lookMs).unref();
    void this.look();
  }

  /** Whether the file is no longer at its place: it was deleted or replaced while it is open, and what is written to it is lost. */
  get isGone(): boolean {
    return this.#isGone;
  }

  get isFull(): boolean {
    return this.#space !== undefined && this.#space.freeBytes < fullBytes;
  }

  /** A sentence when little is left; undefined when not. */
  warning(): string | undefined {
    if (!this.#space) return undefined;
    const { freeBytes, bytes } = this.#space;
    if (freeBytes >= low * bytes) return undefined;
    const percent = Math.floor((freeBytes / bytes) * 100);
    return `The disk of the data folder has ${percent} % left (${Math.floor(freeBytes / 1e6)} MB): make room before requests are refused.`;
  }

  get metrics(): readonly Metric[] {
    const figure = (of: (space: Space) => number) => (): number | [] => (this.#space ? of(this.#space) : []);
    return [
      gauge(
        'headwater_disk_free_bytes',
        'What is left for this user on the disk of the data folder.',
        figure(({ freeBytes }) => freeBytes),
      ),
      gauge(
        'headwater_disk_size_bytes',
        'What there is for this user on the disk of the data folder, used and free.',
        figure(({ bytes }) => bytes),
      ),
    ];
  }

  /** Resolves when it knows how things stand now. */
  async look(): Promise<void> {
    this.#isGone = await stat(this.file).then(
      ({ ino }) => ino !== this.#inode,
      (error: NodeJS.ErrnoException) => error.code === 'ENOENT' || error.code === 'ENOTDIR',
    );
    this.#space = await statfs(dirname(this.file)).then(
      ({ bsize, blocks, bfree, bavail }) => ({ freeBytes: bavail * bsize, bytes: (blocks - bfree + bavail) * bsize }),
      () => undefined,
    );
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

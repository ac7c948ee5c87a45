import { open, type FileHandle } from 'node:fs/promises';

interface Waiting {
  readonly bytes: Buffer;
  readonly durable: () => void;
}

/** A file that grows, with one fsync for all who wait. */
export class GroupFile {
  #waiting: Waiting[] = [];
  #isSyncing = false;

  private constructor(private readonly file: FileHandle) {}

  static async open(path: string): Promise<GroupFile> {
    return new GroupFile(await open(path, 'a'));
  }

  append(bytes: Buffer, durable: () => void): void {
    this.#waiting.push({ bytes, durable });
    if (!this.#isSyncing) void this.#sync();
  }

  async #sync(): Promise<void> {
    this.#isSyncing = true;
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      await this.file.writev(group.map(({ bytes }) => bytes));
      await this.file.datasync();
      for (const { durable } of group) durable();
    }
    this.#isSyncing = false;
  }
}

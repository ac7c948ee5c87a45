import { command } from './command.js';
import { Failure, usage } from './failure.js';
import { offline, onFolders } from './target.js';
import { counted, megabytes } from './text.js';

export const body = command({
  about:
    'Copies a data folder as it is at one moment, whether a server has it open or not. A name that ends in .tar is one file; any other is a ' +
    'folder, into which the next backup copies only what is new. The last backup stands until the next one is whole, whatever ends that. With ' +
    '--url a running server sends the backup, from the port of its metrics, to whoever has HEADWATER_BACKUP_TOKEN as the server has it. A ' +
    'backup has all that the data folder has, secrets too: only its owner can read it.',
  argument: { name: 'backup', about: 'folder, or file whose name ends in .tar' },
  flags: {
    data: { value: 'DIR', about: 'data folder of a server on this machine' },
    url: { value: 'URL', about: 'address of the admin port of a server' },
    json: { about: 'print what was copied as JSON' },
  },
  examples: [
    'headwater backup /mnt/backup/headwater --data data',
    'headwater backup monday.tar --data data',
    'headwater backup monday.tar --url http://headwater:8081',
  ],
  async run({ data, url, json }, io, to) {
    if ((data === undefined) === (url === undefined)) throw usage('Say what is backed up: with --data or with --url.');
    let bytes = 0;
    const onProgress = (more: number): void => io.progress(() => `Copied ${megabytes((bytes += more))}`);
    const { head, files, written } = await (data === undefined
      ? onFolders(async ({ backup }, { readConfig }) =>
          backup({ from: url!, stream: await sent(url!, readConfig(process.env).backupToken) }, to, onProgress),
        )
      : offline(data, ({ backup }) => backup({ data }, to, onProgress)));
    io.note(`Copied ${megabytes(written)}; the backup has ${counted(files.length, 'file')} and the log up to offset ${head}.`);
    if (json) await io.data(`${JSON.stringify({ head, files: files.length, bytes_written: written })}\n`);
  },
});

/** What the server sends. It copies its store before it sends the first byte, however long that takes. */
async function sent(url: string, token: string): Promise<AsyncIterable<Uint8Array>> {
  if (!/^https?:/.test(url) || !URL.canParse(url)) throw usage(`--url "${url}" is no address like http://headwater:8081.`);
  if (token === '') throw usage('Set HEADWATER_BACKUP_TOKEN, or HEADWATER_BACKUP_TOKEN_FILE, as the server has it.');
  const response = await orFailure(url, () => fetch(new URL('/backup', url), { headers: { authorization: `Bearer ${token}` } }));
  if (response.status === 404) throw new Failure(`${url} sends no backups: name its admin port, and set HEADWATER_BACKUP_TOKEN there.`);
  if (!response.ok) throw new Failure(`${url} refuses (${response.status}): ${(await orFailure(url, () => response.text())).trim()}`);
  return wholeOf(url, response.body!);
}

async function* wholeOf(url: string, sentPieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const pieces = sentPieces[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { value, done } = await orFailure(url, () => pieces.next());
      if (done) return;
      yield value;
    }
  } finally {
    await pieces.return?.();
  }
}

async function orFailure<T>(url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const { message, cause: deeper } = cause as Error;
    throw new Failure(`The connection to ${url} failed: ${deeper instanceof Error ? deeper.message : message}.`, undefined, { cause });
  }
}

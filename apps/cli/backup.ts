import { command } from './command.js';
import { offline } from './target.js';
import { counted, megabytes } from './text.js';

export const body = command({
  about:
    'Copies a data folder as it is at one moment, whether a server has it open or not. A name that ends in .tar is one file; any other is a ' +
    'folder, into which the next backup copies only what is new. The last backup stands until the next one is whole, whatever ends that. A ' +
    'backup has all that the data folder has, secrets too: only its owner can read it.',
  argument: { name: 'backup', about: 'folder, or file whose name ends in .tar' },
  flags: {
    data: { value: 'DIR', about: 'data folder of a server', required: true },
    json: { about: 'print what was copied as JSON' },
  },
  examples: ['headwater backup /mnt/backup/headwater --data data', 'headwater backup monday.tar --data data'],
  async run({ data, json }, io, to) {
    let bytes = 0;
    const { head, files, written } = await offline(data, ({ backup }) =>
      backup({ data }, to, (more) => io.progress(() => `Copied ${megabytes((bytes += more))}`)),
    );
    io.note(`Copied ${megabytes(written)}; the backup has ${counted(files.length, 'file')} and the log up to offset ${head}.`);
    if (json) await io.data(`${JSON.stringify({ head, files: files.length, bytes_written: written })}\n`);
  },
});

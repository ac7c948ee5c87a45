import { command } from './command.js';
import { onFolders } from './target.js';
import { counted, megabytes } from './text.js';

export const body = command({
  about:
    'Checks all of a backup, then makes a data folder of it, which must be empty or absent. The next start on it is an ordinary one. Ended in ' +
    'the middle, it leaves a folder that no server opens: the same command begins anew.',
  argument: { name: 'backup', about: 'folder or .tar file that `headwater backup` has made' },
  flags: {
    data: { value: 'DIR', about: 'data folder to make', required: true },
    json: { about: 'print what was restored as JSON' },
  },
  examples: ['headwater restore /mnt/backup/headwater --data data', 'headwater restore monday.tar --data data'],
  async run({ data, json }, io, from) {
    const bytes = { check: 0, write: 0 };
    const { head, files, madeMs } = await onFolders(({ restore }) =>
      restore(from, data, (step, more) => {
        bytes[step] += more;
        io.progress(() => `${step === 'check' ? 'Checked' : 'Restored'} ${megabytes(bytes[step])}`);
      }),
    );
    const made = new Date(madeMs).toISOString();
    io.note(`Restored ${counted(files.length, 'file')} of ${made}, with the log up to offset ${head}.`);
    if (json) await io.data(`${JSON.stringify({ head, files: files.length, made })}\n`);
  },
});

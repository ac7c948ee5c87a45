import { workerData } from 'node:worker_threads';
import type { Start } from '#log';
import { Moved, serve } from '../worker.js';
import { pack } from './chunk.js';
import { LogFile, type Group, type ReadRequest } from './log-file.js';

let file: LogFile;

/** The only thread that has the log's file open. */
serve({
  open: () => {
    file = new LogFile(workerData as string, Date.now());
    return file.opened();
  },
  commit: (group: Group) => file.commit(group),
  read: (request: ReadRequest) => {
    const chunk = pack(file.read(request));
    return new Moved(chunk, [chunk.bytes]);
  },
  groupNames: () => file.groupNames(),
  rewind: ({ group, to }: { readonly group: string; readonly to: Start }) => file.rewind(group, to),
  countLetters: ({ topic, from }: { readonly topic: string; readonly from: number }) => file.countLetters(topic, from),
  positions: (group: string) => file.positions(group),
  close: () => file.close(),
});

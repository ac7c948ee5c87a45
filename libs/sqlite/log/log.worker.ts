import { workerData } from 'node:worker_threads';
import type { Start } from '#log';
import { Transferred, serve } from '../worker.js';
import { chunkOf, type ChunkRequest } from './frame.js';
import { LogFile, type Commit } from './log-file.js';

let file: LogFile;

/** The only thread that has the log's file open. */
serve({
  open: () => {
    file = new LogFile(workerData as string, Date.now());
    return file.opened();
  },
  commit: (commit: Commit) => file.commit(commit),
  read: (request: ChunkRequest) => {
    const chunk = chunkOf(file.read(request));
    return new Transferred(chunk, [chunk.bytes]);
  },
  groupNames: () => file.groupNames(),
  rewind: ({ group, to }: { readonly group: string; readonly to: Start }) => file.rewind(group, to),
  countLetters: ({ topic, from }: { readonly topic: string; readonly from: number }) => file.countLetters(topic, from),
  positions: (group: string) => file.positions(group),
  close: () => file.close(),
});

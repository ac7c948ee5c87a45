import { Transferred, serve } from '../worker.js';
import { inLog } from './fault.js';
import { chunkOf, type ChunkRequest } from './frame.js';
import { Segments } from './segments.js';
import type { Tidying } from './upkeep.js';

/** Where the log is, and the head that it must have at least, when that is known. */
export interface LogFolder {
  readonly folder: string;
  readonly least: number | undefined;
}

let segments: Segments;

/** Reads the log and tidies its files; its one writer is elsewhere. */
serve({
  open: ({ folder, least }: LogFolder) => {
    segments = inLog('opening', () => new Segments(folder));
    return segments.recover(least);
  },
  begun: (first: number) => segments.begun(first),
  read: (request: ChunkRequest) => {
    const chunk = chunkOf(segments.read(request));
    return new Transferred(chunk, [chunk.bytes]);
  },
  count: ({ topic, from, to }: { readonly topic: string; readonly from: number; readonly to: number }) => segments.count(topic, from, to),
  since: ({ ms, to }: { readonly ms: number; readonly to: number }) => segments.since(ms, to),
  tidy: ({ nowMs, newestTo }: Tidying) => segments.tidy(nowMs, newestTo),
  aged: (beforeMs: number) => segments.aged(beforeMs),
  drop: (begins: number) => segments.drop(begins),
});

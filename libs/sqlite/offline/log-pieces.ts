import type { AnyTopic, StreamRecord } from '#log';
import { UnknownSchema } from '#topics';
import { unpack, type Raw } from '../log/chunk.js';
import { LogRecord } from '../log/log-record.js';
import type { SqliteLog } from '../log/sqlite-log.js';

/** How far a pass over the log has come, in offsets. */
export interface Progress {
  readonly step: 'rebuild' | 'count' | 'compare';
  readonly done: number;
  readonly total: number;
}

/** About a megabyte of the log. */
export interface Piece {
  readonly records: readonly StreamRecord[];
  /** Records that cannot be decoded, and so are in no projection. */
  readonly unreadable: number;
  /** Offset after the piece. */
  readonly next: number;
}

/** The records of topics that keep all of them, from the beginning to offset `end`. Throws `log_corrupt` at the first damaged row. */
export async function* logPieces(log: SqliteLog, topics: readonly AnyTopic[], end: number): AsyncGenerator<Piece> {
  const byName = new Map(topics.map((topic) => [topic.name, topic]));
  const read = (from: number): ReturnType<SqliteLog['read']> => {
    const chunk = log.read({ from, kept: [...byName.keys()], compacted: [] });
    chunk.catch(() => undefined);
    return chunk;
  };
  let coming = read(0);
  for (let from = 0; from < end;) {
    const chunk = await coming;
    from = chunk.next;
    if (from < end) coming = read(from);
    const raws = unpack(chunk).filter(({ offset }) => offset < end);
    const records: StreamRecord[] = [];
    for (const raw of raws) records.push(...(await decoded(log, byName.get(raw.topic)!, raw)));
    yield { records, unreadable: raws.length - records.length, next: Math.min(from, end) };
  }
}

async function decoded(log: SqliteLog, topic: AnyTopic, raw: Raw): Promise<readonly StreamRecord[]> {
  try {
    return [LogRecord.decode(log.codec, topic, raw)];
  } catch (cause) {
    const learned =
      cause instanceof UnknownSchema &&
      (await log.codec.learn(topic, cause.schemaId).then(
        () => true,
        () => false,
      ));
    return learned ? decoded(log, topic, raw) : [];
  }
}

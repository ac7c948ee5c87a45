import { Inject, Injectable } from '@nestjs/common';
import { on, RECORD_LOG, Table, type Processor, type RecordLog, type StreamRecord } from '#log';
import type { EventBatch, PointBatch, Source } from '#model';
import { events, points, sources, sourcesGroup } from '#topics';

/** Keeps when each source was first and last heard. Its table writes a new source at once, and newer times of a source every five seconds. */
@Injectable()
export class SourceTracker implements Processor {
  readonly group = sourcesGroup;
  readonly table: Table<Source>;
  readonly inputs = [
    on(points, (records) => this.#hear(records, () => true)),
    on(events, (records) => this.#hear(records, ({ origin }) => origin === 'source')),
  ];

  constructor(@Inject(RECORD_LOG) log: RecordLog) {
    this.table = new Table(log, sources);
  }

  async #hear<V extends PointBatch | EventBatch>(records: readonly StreamRecord<V>[], isBySource: (batch: V) => boolean): Promise<void> {
    for (const { key, value } of records) {
      if (!value || !isBySource(value)) continue;
      const { orgId, sourceId, receivedMs } = value;
      const known = this.table.get(key);
      if (known && known.firstReceivedMs <= receivedMs && receivedMs <= known.lastReceivedMs) continue;
      const firstReceivedMs = Math.min(receivedMs, known?.firstReceivedMs ?? Infinity);
      const lastReceivedMs = Math.max(receivedMs, known?.lastReceivedMs ?? -Infinity);
      this.table.set(key, { orgId, sourceId, firstReceivedMs, lastReceivedMs });
    }
  }
}

import { Inject, Injectable } from '@nestjs/common';
import { on, RECORD_LOG, Table, type Processor, type RecordLog, type StreamRecord } from '#log';
import { afterDeletion, afterHearing, type EventBatch, type Half, type PointBatch, type Source } from '#model';
import { events, points, sources, sourcesGroup } from '#topics';

/** A source whose `lastReceivedMs` the tracker changes in place. */
type TrackedSource = Source & { lastReceivedMs: number };

/** Keeps when each source was first and last heard. Its table writes a source that begins or ends at once, and newer times of a source every five seconds. */
@Injectable()
export class SourceTracker implements Processor {
  readonly group = sourcesGroup;
  readonly table: Table<TrackedSource>;
  readonly inputs = [
    on(points, (records) => this.#hear(records, 'points', () => true)),
    on(events, (records) => this.#hear(records, 'events', ({ origin }) => origin === 'source')),
  ];

  constructor(@Inject(RECORD_LOG) log: RecordLog) {
    this.table = new Table<TrackedSource>(log, sources, { copied: (source) => ({ ...source }) });
  }

  async #hear<V extends PointBatch | EventBatch>(
    records: readonly StreamRecord<V>[],
    half: Half,
    isBySource: (batch: V) => boolean,
  ): Promise<void> {
    for (const { key, value } of records) {
      if (!value) continue;
      const known = this.table.get(key);
      if (value.deleted) {
        // A source without this metric is a source still.
        if (known && value.deleted.metric === null) this.table.set(key, afterDeletion(known, half));
        continue;
      }
      if (!isBySource(value)) continue;
      if (known?.heardIn === half && value.receivedMs > known.lastReceivedMs) {
        // Nearly every record takes this way. A new object for each would outlive the collections of young objects and leave garbage among the old ones.
        known.lastReceivedMs = value.receivedMs;
        this.table.set(key, known);
        continue;
      }
      const next = afterHearing(known, half, value);
      if (next !== known) this.table.set(key, next);
    }
  }
}

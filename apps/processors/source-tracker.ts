import { Inject, Injectable } from '@nestjs/common';
import { entry, on, RECORD_LOG, VIEWS, type Processor, type RecordLog, type StreamRecord, type View, type Views } from '#log';
import { during, type EventBatch, type Lease, type PointBatch, type Source } from '#model';
import { events, points, sources, sourcesGroup } from '#topics';

type Heard = Pick<PointBatch | EventBatch, 'orgId' | 'sourceId' | 'receivedMs'>;

const writePauseMs = 5_000;
const mostUnwritten = 10_000;

/** Keeps when each source was first and last heard: a new one is written at once, newer times of all others every five seconds. */
@Injectable()
export class SourceTracker implements Processor {
  readonly group = sourcesGroup;
  readonly inputs = [
    on(points, (records, lease) => this.#hear(records, lease, () => true)),
    on(events, (records, lease) => this.#hear(records, lease, ({ origin }) => origin === 'source')),
  ];
  readonly #view: View<Source>;
  #lease: Lease | undefined;
  /** The view shows what was written before the lease. */
  #shown: Promise<void> | undefined;
  /** What is not in the log yet, by key. */
  readonly #unwritten = new Map<string, Source>();
  /** What is in the log, but perhaps not in the view yet. */
  readonly #written = new Map<string, Source>();
  #lastWrite: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(VIEWS) views: Views,
  ) {
    this.#view = views.open(sources);
  }

  checkpoint(): Promise<void> {
    return this.#write();
  }

  async #hear<V extends Heard>(records: readonly StreamRecord<V>[], lease: Lease, isBySource: (value: V) => boolean): Promise<void> {
    if (lease !== this.#lease) this.#begin(lease);
    await this.#shown;
    let isNew = false;
    for (const { key, value } of records) if (value && isBySource(value)) isNew = this.#note(key, value) || isNew;
    if (isNew || this.#unwritten.size > mostUnwritten) await this.#write();
    else if (this.#unwritten.size > 0) this.#timer ??= setTimeout(() => void this.#write().catch(() => {}), writePauseMs);
  }

  /** Other members may have written since the last lease: what they wrote counts, and what is held here comes again. */
  #begin(lease: Lease): void {
    this.#lease = lease;
    this.#unwritten.clear();
    this.#written.clear();
    this.#shown = this.#view.caughtUp();
    this.#shown.catch(() => (this.#lease = undefined));
  }

  /** Whether the source was never heard before. */
  #note(key: string, { orgId, sourceId, receivedMs }: Heard): boolean {
    const known = this.#unwritten.get(key) ?? this.#written.get(key) ?? this.#view.get(key);
    if (covers(known, { firstReceivedMs: receivedMs, lastReceivedMs: receivedMs })) return false;
    const firstReceivedMs = Math.min(receivedMs, known?.firstReceivedMs ?? Infinity);
    const lastReceivedMs = Math.max(receivedMs, known?.lastReceivedMs ?? -Infinity);
    this.#unwritten.set(key, { orgId, sourceId, firstReceivedMs, lastReceivedMs });
    return known === undefined;
  }

  /** One write at a time, so that of two records of a source the newer is the later in the log. */
  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const written = this.#lastWrite.then(() => this.#append());
    this.#lastWrite = written.catch(() => {});
    return written;
  }

  async #append(): Promise<void> {
    const batch = [...this.#unwritten];
    if (batch.length === 0 || !this.#lease?.held()) return;
    await during(this.#lease, () => this.log.append(batch.map(([, source]) => entry(sources, source))));
    for (const [key, source] of this.#written) if (covers(this.#view.get(key), source)) this.#written.delete(key);
    for (const [key, source] of batch) {
      this.#written.set(key, source);
      if (this.#unwritten.get(key) === source) this.#unwritten.delete(key);
    }
  }
}

const covers = (
  known: Source | undefined,
  { firstReceivedMs, lastReceivedMs }: Pick<Source, 'firstReceivedMs' | 'lastReceivedMs'>,
): boolean => known !== undefined && known.firstReceivedMs <= firstReceivedMs && lastReceivedMs <= known.lastReceivedMs;

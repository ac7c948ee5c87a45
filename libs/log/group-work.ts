import { causes, type Lease } from '#model';
import { Complaints, type Tell } from './complaints.js';
import { deadLettersOf } from './dead-letter.js';
import { isOfARecord, park } from './park.js';
import { deliver, type Processor } from './processor.js';
import type { RecordLog } from './record-log.js';
import type { StreamRecord, Unreadable } from './topic.js';
import { partitionName, placeName, type UnderLease } from './under-lease.js';

/** More records than these, parked between two checkpoints, are counted in one report. */
const maxTold = 20;

/** What a group does with records: it gives them to its processor, parks those that the processor cannot use, and counts and tells what fails. */
export class GroupWork {
  readonly counts = { processed: 0, parked: 0, failures: 0 };
  readonly #group: string;
  readonly #complaints: Complaints;
  /** Records that were parked since `tellParked`. */
  #parkedLately = 0;

  /** @param openTable resolves when the table knows the partitions that the group has now; undefined where it does. */
  constructor(
    private readonly log: RecordLog,
    private readonly processor: Processor,
    private readonly report: Tell,
    private readonly openTable: () => Promise<void> | undefined,
  ) {
    this.#group = processor.group.name;
    this.#complaints = new Complaints((message, error) => report(`group ${this.#group}: ${message}`, error));
  }

  async take(records: readonly StreamRecord[], current: UnderLease): Promise<void> {
    current.came(records[0]!);
    const fresh = current.unparked(records);
    if (fresh.length > 0) await this.onTable(current, () => this.#process(fresh, current));
    current.processed(records);
  }

  /** Takes a record that cannot be decoded. */
  async refuse(record: Unreadable, current: UnderLease): Promise<void> {
    if (current.unparked([record]).length > 0) await this.#park(record, new Error(record.reason), current);
    current.processed([record]);
  }

  /** Does work that changes the table. What earlier work has to write at once is written before it, and what this work has, after it. */
  async onTable({ lease }: UnderLease, work: () => Promise<void>): Promise<void> {
    const { table } = this.processor;
    if (!table) return work();
    const settle = (): Promise<void> | undefined => this.#toldOf('writing the table', lease, table.settle());
    await this.#toldOf('reading the table', lease, this.openTable());
    await settle();
    await work();
    await settle();
  }

  /** Does work, and tells when it fails and when it works again. */
  async told(what: string, lease: Lease, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#complaints.worked(what);
    } catch (error) {
      this.#failed(what, error, lease);
      throw error;
    }
  }

  /** Tells how many records more were parked than were told of. */
  tellParked(): void {
    const more = this.#parkedLately - maxTold;
    this.#parkedLately = 0;
    if (more > 0) this.report(`group ${this.#group} parked ${more} more records: headwater dlq list shows them`);
  }

  /** What failed may work again with another member: nobody hears of it here. */
  forget(): void {
    this.#complaints.forget();
  }

  /** As `told`. @param work undefined where there is none, which is mostly so. */
  #toldOf(what: string, lease: Lease, work: Promise<void> | undefined): Promise<void> | undefined {
    if (work) return this.told(what, lease, () => work);
    this.#complaints.worked(what);
    return undefined;
  }

  async #process(records: readonly StreamRecord[], current: UnderLease): Promise<void> {
    const [first] = records as [StreamRecord];
    const what = `a batch of ${partitionName(first)}`;
    try {
      await deliver(this.processor, records, current.lease);
      this.counts.processed += records.length;
      this.#complaints.worked(what);
    } catch (error) {
      if (!isOfARecord(error)) {
        this.#failed(what, error, current.lease, ` from offset ${first.offset}`);
        throw error;
      }
      // What is told of such a failure is which record is parked, and why.
      if (current.lease.held()) this.counts.failures++;
      if (records.length > 1) for (const record of records) await this.#process([record], current);
      else await this.#park({ ...first, bytes: this.log.encoded(first), reason: reasonOf(error) }, error, current);
    }
  }

  async #park(record: Unreadable, error: unknown, current: UnderLease): Promise<void> {
    const place = placeName(record);
    await this.told(`parking the record of ${place}, for which its partition waits,`, current.lease, () =>
      park(this.log, this.#group, record),
    );
    current.parked(record);
    this.counts.parked++;
    if (++this.#parkedLately > maxTold) return;
    this.report(`group ${this.#group} parked the record of ${place} in ${deadLettersOf(record.topic.name)}: ${causes(error)}`, error);
  }

  /** What is given up with its lease is no failure: it comes again to whoever has the partitions then. */
  #failed(what: string, error: unknown, lease: Lease, where?: string): void {
    if (!lease.held()) return;
    this.counts.failures++;
    this.#complaints.failed(what, error, where);
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

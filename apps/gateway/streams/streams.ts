import { Inject, Injectable, Optional } from '@nestjs/common';
import { Admission, CLOCK, closeCodes, Metrics, Slices, type Clock, type CloseCode, MONOTONIC_CLOCK, type MonotonicClock } from '#edge';
import { partitionOf, RECORD_LOG, type RecordLog } from '#log';
import { type Caller, type ErrorKind, gauge, tally, TelemetryError, visibleSource } from '#model';
import { sourceKey } from '#topics';
import { CatchUps } from './catch-ups.js';
import { parseCursor, type Cursor } from './cursor.js';
import { Deliveries } from './deliveries.js';
import { Frame } from './frames.js';
import { LivePartition } from './live-partition.js';
import type { Outlet } from './outlet.js';
import type { Filter, StreamKind } from './stream-kind.js';
import { slowBytes, StreamReader } from './stream-reader.js';
import { Ticks } from './ticks.js';

export const STREAM_LIMITS = Symbol('StreamLimits');

/** What streams may be open in one process, and what they may hold. */
export interface StreamLimits {
  readonly ofKey: number;
  readonly ofPerson: number;
  readonly ofOrganization: number;
  /** Of one stream of one device: all of them are sent what comes. */
  readonly ofDevice: number;
  /** Different lists of metrics among those: frames are made for each. */
  readonly listsOfDevice: number;
  /** What all readers together may not have taken yet: those who hold most are closed first. */
  readonly heldBytes: number;
}

export const streamLimits: StreamLimits = {
  ofKey: 10_000,
  ofPerson: 100,
  ofOrganization: 20_000,
  ofDevice: 2_000,
  listsOfDevice: 100,
  heldBytes: 256 * 1024 * 1024,
};

/** How far back a cursor may be. */
const maxBackMs = 3_600_000;
const maxBackRecords = 100_000;
const lookMs = 1_000;
const aliveMs = 30_000;

/** What somebody asks for. */
export interface Wanted {
  readonly kind: StreamKind;
  readonly sourceId: string;
  readonly filter: Filter;
  /** A cursor of an earlier stream. */
  readonly after?: string | undefined;
}

interface Open {
  readonly reader: StreamReader;
  readonly partition: LivePartition;
  aliveMs: number;
  /** Had much unsent while it was behind: goes on when it has taken that. */
  isHeldBack: boolean;
}

/** All live streams of this process. */
@Injectable()
export class Streams {
  readonly #open = new Map<StreamReader, Open>();
  readonly #partitions = new Map<string, LivePartition>();
  readonly #ofKey = new Map<string, number>();
  readonly #ofOrganization = new Map<string, number>();
  /** Of each stream of a device, by the list of metrics. */
  readonly #ofDevice = new Map<string, Map<string, number>>();
  readonly #ticks = new Ticks();
  readonly #deliveries: Deliveries;
  readonly #catchUps: CatchUps;
  /**
   * About how many bytes wait for readers that are not closing. What readers have taken is subtracted only when this is too much. Cursors of catch-ups and
   * keep-alive frames are not counted.
   */
  #heldBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(STREAM_LIMITS) private readonly limits: StreamLimits,
    @Inject(Admission) private readonly admission: Pick<Admission, 'refusalOf'>,
    slices: Slices,
    metrics: Metrics,
    @Optional() @Inject(MONOTONIC_CLOCK) private readonly monotonicMs: MonotonicClock = () => performance.now(),
  ) {
    this.#deliveries = new Deliveries(slices);
    this.#catchUps = new CatchUps(log, this.#deliveries, {
      gap: (reader) => this.#gap(reader),
      slow: (reader) => void (this.#open.get(reader)!.isHeldBack = true),
    });
    metrics.add(
      gauge('headwater_streams_open', 'Live streams that clients read.', () => this.#open.size),
      gauge('headwater_streams_held_bytes', 'What readers of live streams have not taken yet.', () => heldBy([...this.#open.keys()])),
      gauge('headwater_stream_catch_ups', 'Reads of the log for streams that go on behind a cursor.', () => this.#catchUps.reads),
    );
  }

  /**
   * Has somebody read a stream until `leave`.
   *
   * @throws TelemetryError `over_rate` when there are too many streams of the key, its organization, or the device.
   */
  open(caller: Caller, wanted: Wanted, outlet: Outlet): StreamReader {
    this.checkLimits(caller, wanted);
    const { kind, filter, after } = wanted;
    const key = keyOf(caller, wanted);
    const partition = this.#partition(kind, key);
    const reader = new StreamReader(kind, key, filter, caller, outlet, (bytes) => this.#hold(bytes));
    this.#count(reader, 1);
    partition.readers.add(reader);
    this.#open.set(reader, { reader, partition, aliveMs: this.monotonicMs() + aliveMs, isHeldBack: false });
    this.#timer ??= setInterval(() => this.#look(), lookMs).unref();
    if (outlet.hasCursors) void this.#begin(reader, partition, after);
    else partition.goLive(reader);
    return reader;
  }

  /** @throws TelemetryError `over_rate`. */
  checkLimits(caller: Caller, wanted: Wanted): void {
    const { keyId, orgId, person } = caller;
    const { ofKey, ofPerson, ofOrganization, ofDevice, listsOfDevice } = this.limits;
    const ofOne = person ? ofPerson : ofKey;
    if ((this.#ofKey.get(keyId) ?? 0) >= ofOne) throw tooMany(ofOne, person ? 'person' : 'key');
    if ((this.#ofOrganization.get(orgId) ?? 0) >= ofOrganization) throw tooMany(ofOrganization, 'organization');
    const lists = this.#ofDevice.get(wanted.kind.letter + keyOf(caller, wanted));
    if (!lists) return;
    if (Iterator.from(lists.values()).reduce((sum, count) => sum + count, 0) >= ofDevice) throw tooMany(ofDevice, 'device');
    if (!lists.has(wanted.filter.key) && lists.size >= listsOfDevice)
      throw new TelemetryError('over_rate', `Ask for at most ${listsOfDevice} different lists of metrics of one device at the same time.`);
  }

  leave(reader: StreamReader): void {
    const open = this.#open.get(reader);
    if (!open) return;
    const { partition } = open;
    this.#open.delete(reader);
    reader.end();
    this.#count(reader, -1);
    this.#catchUps.leave(partition, reader);
    partition.leave(reader);
    if (partition.readers.size === 0) {
      partition.end();
      const name = nameOf(partition.kind, partition.partition);
      if (this.#partitions.get(name) === partition) this.#partitions.delete(name);
    }
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #count({ kind, key, filter, caller: { keyId, orgId } }: StreamReader, one: 1 | -1): void {
    tally(this.#ofKey, keyId, one);
    tally(this.#ofOrganization, orgId, one);
    const stream = kind.letter + key;
    const lists = this.#ofDevice.get(stream) ?? new Map<string, number>();
    tally(lists, filter.key, one);
    if (lists.size > 0) this.#ofDevice.set(stream, lists);
    else this.#ofDevice.delete(stream);
  }

  #partition(kind: StreamKind, key: string): LivePartition {
    const number = partitionOf(Buffer.from(key), kind.topic.partitions);
    const name = nameOf(kind, number);
    let partition = this.#partitions.get(name);
    if (!partition || partition.isEnded)
      this.#partitions.set(name, (partition = new LivePartition(this.log, kind, number, this.#ticks, this.#deliveries)));
    return partition;
  }

  /** Begins behind a cursor, or with what comes from now on. */
  async #begin(reader: StreamReader, partition: LivePartition, after: string | undefined): Promise<void> {
    if (!(await partition.opened) || !this.#open.has(reader)) return;
    const cursor = after === undefined ? undefined : parseCursor(after);
    if (after === undefined) {
      this.#goLiveFromHere(reader, partition);
      reader.outlet.alive(partition.mark(reader.place!, this.clock()));
      return;
    }
    reader.timeMs = cursor?.timeMs;
    const isKnown = cursor !== undefined && (await this.#isKnown(cursor, partition));
    if (!this.#open.has(reader)) return;
    if (!isKnown) return this.#gap(reader);
    reader.outlet.alive(after);
    reader.place = { offset: cursor.offset, index: cursor.index };
    this.#goOn(reader, partition);
  }

  /** Whether a cursor is one of this log, and not too far back. */
  async #isKnown({ letter, partition: number, offset, index, history, timeMs }: Cursor, partition: LivePartition): Promise<boolean> {
    if (letter !== partition.kind.letter || number !== partition.partition) return false;
    if (this.clock() - timeMs > maxBackMs || partition.position - offset > maxBackRecords) return false;
    // Another process may have been given more of the log so far.
    if (offset > partition.position) await partition.caughtUp().catch(() => undefined);
    return offset <= partition.position && partition.historyOf(index > 0 ? offset + 1 : offset) === history;
  }

  #goOn(reader: StreamReader, partition: LivePartition): void {
    if (reader.place!.offset >= partition.position) partition.goLive(reader);
    else this.#catchUps.join(partition, reader);
  }

  #goLiveFromHere(reader: StreamReader, partition: LivePartition): void {
    reader.place = { offset: partition.position, index: 0 };
    partition.goLive(reader);
  }

  /** Tells a reader that it has missed something, and goes on with what comes from now on. */
  #gap(reader: StreamReader): void {
    const open = this.#open.get(reader);
    if (!open) return;
    const { partition } = open;
    this.#goLiveFromHere(reader, partition);
    const [{ place, timeMs: from = null }, to] = [reader, this.clock()];
    reader.outlet.frames([new Frame(JSON.stringify({ type: 'gap', from, to }).slice(0, -1), () => partition.mark(place!, to))]);
  }

  #look(): void {
    const nowMs = this.monotonicMs();
    for (const partition of this.#partitions.values()) partition.look(nowMs);
    this.#hold(0);
    this.#cutClosing();
    for (const open of this.#open.values()) {
      const { reader, partition } = open;
      const refusal = this.admission.refusalOf(reader.caller);
      if (refusal) reader.close(codeFor(refusal), refusal.message);
      reader.look(nowMs);
      if (open.isHeldBack && reader.outlet.unsentBytes < slowBytes / 2) {
        open.isHeldBack = false;
        this.#goOn(reader, partition);
      }
      if (open.aliveMs > nowMs) continue;
      open.aliveMs = nowMs + aliveMs;
      if (reader.outlet.hasCursors) reader.outlet.alive(this.#cursorOf(reader, partition));
    }
  }

  /** Closes the slowest where readers hold too much with these bytes. */
  #hold(bytes: number): void {
    this.#heldBytes += bytes;
    if (this.#heldBytes <= this.limits.heldBytes) return;
    const readers = [...this.#open.keys()].filter(({ isClosed }) => !isClosed);
    this.#heldBytes = heldBy(readers);
    for (const reader of readers.toSorted((a, b) => b.heldBytes - a.heldBytes)) {
      if (this.#heldBytes <= this.limits.heldBytes) return;
      this.#heldBytes -= reader.heldBytes;
      reader.tooSlow();
    }
  }

  /** Those that are closing may take what was sent before, as long as that is not too much either. */
  #cutClosing(): void {
    const closing = [...this.#open.keys()].filter(({ isClosed }) => isClosed);
    if (heldBy(closing) > this.limits.heldBytes) for (const { outlet } of closing) outlet.cut();
  }

  /** Where a reader is that is not behind; of one that is, its last frame says so. */
  #cursorOf(reader: StreamReader, partition: LivePartition): string | undefined {
    const place = partition.isHeard ? partition.placeOf(reader) : undefined;
    return place && partition.mark(place, this.clock());
  }
}

const nameOf = ({ letter }: StreamKind, partition: number): string => letter + partition;

const keyOf = (caller: Caller, { sourceId }: Wanted): string =>
  sourceKey({ orgId: caller.orgId, sourceId: visibleSource(caller, sourceId) });

const heldBy = (readers: readonly StreamReader[]): number => readers.reduce((bytes, reader) => bytes + reader.heldBytes, 0);

/** What the close code says of a caller who is not let in. All others are 4401. */
const codes: Partial<Record<ErrorKind, CloseCode>> = { payment_required: closeCodes.paymentRequired, unavailable: closeCodes.tryLater };
export const codeFor = ({ kind }: TelemetryError): CloseCode => codes[kind] ?? closeCodes.unauthorized;

/** What a reader is told who is no longer let in. */
export const revokedText = ({ person }: Caller): string =>
  person ? 'You have signed out, or left the organization.' : 'The key is not valid any more.';

const tooMany = (most: number, of: string): TelemetryError =>
  new TelemetryError('over_rate', `Keep at most ${most.toLocaleString('en')} streams of one ${of} open.`);

import { mkdirSync, readdirSync, readFileSync, statSync, unlinkSync } from 'node:fs';
import { type FileHandle, open, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { HeadwaterError } from '../../error.js';
import { timer } from '../../waiting.js';
import type { Batch, Buffer, BufferLimits, BufferListener } from '../buffer.js';
import { FolderLock } from './folder-lock.js';
import { batchRecord, headBytes, readSegment, settledRecord, type StoredBatch } from './records.js';

const mib = 1024 * 1024;
const ending = '.points';
/** What is written is on the disk itself at the latest so much later. */
const syncMs = 500;
/** How long it may take until what is settled is written: without that it is only sent again after a restart. */
const settledMs = 1000;
const retryMs = 1000;
/** So many bytes wait in memory while the disk cannot be written. */
const maxUnwrittenBytes = 8 * mib;
const maxReads = 3;

/** A file of batches, and what of it is in memory. */
interface Segment {
  readonly path: string;
  /** The place of its first batch. */
  readonly place: number;
  /** Bytes that the file has, or will have. */
  bytes: number;
  writtenBytes: number;
  exists: boolean;
  isGone: boolean;
  /** Batches that nobody has taken; undefined when they are in the file alone. */
  waiting: Kept[] | undefined;
  /** The place of the first of these. */
  untaken: number;
  untakenPoints: number;
  untakenBytes: number;
  /** Batches that were taken and are not settled. */
  open: number;
  unwritten: Kept[];
  failedReads: number;
}

interface Kept extends StoredBatch {
  readonly segment: Segment;
}

/** Opens the buffer of a folder. @throws HeadwaterError `buffer_in_use`, `buffer_failed` */
export const openFolder = (folder: string, limits: BufferLimits, listener: BufferListener): Buffer =>
  new FileBuffer(folder, limits, listener);

/**
 * Keeps batches in a folder, in segments of which the oldest goes once all of it is settled, or when there is no more room. In memory it has the
 * segment that is read and the one that is written.
 */
export class FileBuffer implements Buffer {
  readonly #lock: FolderLock;
  readonly #segmentBytes: number;
  /** Oldest first. */
  #segments: Segment[] = [];
  #tail: Segment | undefined;
  #nextPlace = 0;
  /** Of batches that were taken, those that are not settled, in their order. */
  readonly #open = new Set<Kept>();
  /** Every point before this place is settled, says the folder. */
  #settledOnDisk = 0;
  #file: { readonly segment: Segment; readonly handle: FileHandle } | undefined;
  #writing: Promise<void> | undefined;
  #syncing: ReturnType<typeof setTimeout> | undefined;
  #settling: ReturnType<typeof setTimeout> | undefined;
  #retrying: ReturnType<typeof setTimeout> | undefined;
  #unwrittenBytes = 0;
  /** Whether something was written that may not be on the disk itself. */
  #isDirty = false;
  #isFolderSynced = true;
  #isClosed = false;
  readonly opened: Promise<void>;
  readonly all = { points: 0, bytes: 0 };
  readonly untaken = { points: 0, bytes: 0 };
  #fileBytes = 0;

  constructor(
    private readonly folder: string,
    private readonly limits: BufferLimits,
    private readonly listener: BufferListener,
  ) {
    this.#segmentBytes = Math.min(mib, limits.maxBytes / 8);
    try {
      mkdirSync(folder, { recursive: true });
      this.#lock = new FolderLock(folder);
    } catch (error) {
      throw failure(folder, error);
    }
    try {
      this.#find();
    } catch (error) {
      this.#lock.release();
      throw failure(folder, error);
    }
    const found = [...this.#segments];
    this.opened = this.#count(found).catch((error: unknown) => this.listener.failed(failure(folder, error)));
  }

  hasRoom(bytes: number): boolean {
    return this.#fileBytes + bytes + headBytes <= this.limits.maxBytes && this.#unwrittenBytes + bytes <= maxUnwrittenBytes;
  }

  add({ text, points, bytes }: Batch): void {
    const size = headBytes + bytes;
    const segment = this.#tailFor(size);
    const kept: Kept = { place: this.#nextPlace, text, points, bytes, segment };
    this.#nextPlace += points;
    segment.waiting!.push(kept);
    segment.unwritten.push(kept);
    this.#grow(segment, size);
    this.#unwrittenBytes += bytes;
    this.#countUntaken(segment, kept, 1);
    this.all.points += points;
    this.all.bytes += bytes;
    this.#makeRoom();
    this.#write();
  }

  async take(maxPoints: number, maxBytes: number): Promise<Batch[]> {
    await this.opened;
    const taken: Kept[] = [];
    let [points, bytes] = [0, 0];
    for (const segment of this.#segments) {
      if (segment.untakenPoints === 0) continue;
      try {
        if (!segment.waiting) await this.#load(segment);
      } catch (error) {
        if (taken.length === 0) throw error;
        break;
      }
      let count = 0;
      for (const batch of segment.waiting ?? []) {
        points += batch.points;
        bytes += batch.bytes;
        if (taken.length > 0 && (points > maxPoints || bytes > maxBytes)) break;
        taken.push(batch);
        count++;
      }
      for (const batch of segment.waiting?.splice(0, count) ?? []) this.#take(batch);
      if (points >= maxPoints || bytes >= maxBytes) break;
    }
    this.#evict();
    return taken;
  }

  settle(batches: readonly Batch[]): void {
    for (const batch of batches as readonly Kept[]) {
      if (!this.#open.delete(batch)) continue;
      batch.segment.open--;
      this.all.points -= batch.points;
      this.all.bytes -= batch.bytes;
    }
    this.#sweep();
    this.#settling ??= timer(settledMs, () => {
      this.#settling = undefined;
      this.#write();
    });
  }

  async saved(): Promise<void> {
    this.#write();
    await this.#writing;
    await this.#sync();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    await this.opened;
    clearTimeout(this.#settling);
    this.#settling = undefined;
    await this.saved();
    this.#isClosed = true;
    for (const pending of [this.#syncing, this.#settling, this.#retrying]) clearTimeout(pending);
    await this.#file?.handle.close().catch(() => undefined);
    this.#file = undefined;
    if (this.all.points === 0) for (const segment of this.#segments) if (segment.exists) await unlink(segment.path).catch(() => undefined);
    this.#lock.release();
  }

  /** Finds the segments of earlier runs, and from the last of them where this run goes on. */
  #find(): void {
    const names = readdirSync(this.folder).filter((name) => /^\d{16}\.points$/.test(name));
    for (const name of names.sort()) {
      const path = join(this.folder, name);
      this.#segments.push({ ...newSegment(path, Number(name.slice(0, 16))), exists: true, waiting: undefined, bytes: statSync(path).size });
    }
    let settled: number | undefined;
    for (let at = this.#segments.length - 1; at >= 0 && settled === undefined; at--) {
      const segment = this.#segments[at]!;
      const found = readSegment(new Uint8Array(readFileSync(segment.path)));
      settled = found.settled;
      this.#nextPlace = Math.max(this.#nextPlace, found.end ?? 0, found.settled ?? 0);
      // A file without a whole batch has nothing to give, and its name may be needed.
      if (found.batches.length > 0) continue;
      unlinkSync(segment.path);
      this.#segments.splice(at, 1);
    }
    this.#settledOnDisk = settled ?? 0;
    for (const { bytes } of this.#segments) this.#fileBytes += bytes;
  }

  /** Counts what earlier runs have left. */
  async #count(found: readonly Segment[]): Promise<void> {
    let expected = found[0]?.place ?? 0;
    for (const segment of found) {
      const batches = await this.#read(segment).catch(() => undefined);
      if (segment.isGone) continue;
      if (!batches) {
        // It is tried again when its turn comes.
        segment.untakenPoints = 1;
        this.untaken.points += 1;
        this.all.points += 1;
        continue;
      }
      for (const batch of batches.filter(({ place }) => place >= this.#settledOnDisk)) {
        this.#lost(batch.place - Math.max(expected, this.#settledOnDisk));
        expected = batch.place + batch.points;
        if (segment.untakenPoints === 0) segment.untaken = batch.place;
        this.#countUntaken(segment, batch, 1);
        this.all.points += batch.points;
        this.all.bytes += batch.bytes;
      }
    }
    this.#sweep();
    this.#makeRoom();
  }

  #lost(points: number): void {
    if (points > 0) this.listener.dropped(points, 'damaged');
  }

  async #read(segment: Segment): Promise<readonly StoredBatch[]> {
    return readSegment(new Uint8Array(await readFile(segment.path))).batches;
  }

  async #load(segment: Segment): Promise<void> {
    try {
      const batches = await this.#read(segment);
      if (segment.isGone) return;
      segment.waiting = batches
        .filter(({ place }) => place >= segment.untaken && place >= this.#settledOnDisk)
        .map((batch) => ({ ...batch, segment }));
      const points = segment.waiting.reduce((sum, batch) => sum + batch.points, 0);
      const bytes = segment.waiting.reduce((sum, batch) => sum + batch.bytes, 0);
      this.#correct(segment, points, bytes);
    } catch (error) {
      if (segment.isGone) return;
      if (++segment.failedReads < maxReads) throw failure(this.folder, error);
      this.listener.failed(failure(this.folder, error));
      this.#drop(segment, 'damaged');
    }
  }

  /** The file holds something else than was thought. */
  #correct(segment: Segment, points: number, bytes: number): void {
    const [lostPoints, lostBytes] = [segment.untakenPoints - points, segment.untakenBytes - bytes];
    segment.untakenPoints -= lostPoints;
    segment.untakenBytes -= lostBytes;
    this.untaken.points -= lostPoints;
    this.untaken.bytes -= lostBytes;
    this.all.points -= lostPoints;
    this.all.bytes -= lostBytes;
    this.#lost(lostPoints);
  }

  #tailFor(size: number): Segment {
    const tail = this.#tail;
    if (tail && !tail.isGone && (tail.bytes + size <= this.#segmentBytes || tail.bytes === 0)) return tail;
    const path = join(this.folder, String(this.#nextPlace).padStart(16, '0') + ending);
    const fresh = newSegment(path, this.#nextPlace);
    this.#segments.push(fresh);
    this.#tail = fresh;
    this.#evict();
    return fresh;
  }

  /** Forgets the batches of segments that are neither read nor written now. */
  #evict(): void {
    const read = this.#segments.find(({ untakenPoints }) => untakenPoints > 0);
    for (const segment of this.#segments) {
      if (segment !== read && segment !== this.#tail && segment.unwritten.length === 0 && segment.untakenPoints > 0)
        segment.waiting = undefined;
    }
  }

  #take(batch: Kept): void {
    const { segment } = batch;
    this.#countUntaken(segment, batch, -1);
    segment.untaken = batch.place + batch.points;
    segment.open++;
    this.#open.add(batch);
  }

  #makeRoom(): void {
    if (this.limits.full === 'reject') return;
    const isOld = (segment: Segment): boolean => segment !== this.#tail;
    while (this.#fileBytes > this.limits.maxBytes) {
      const oldest = this.#segments.find(isOld);
      if (!oldest) break;
      this.#drop(oldest, 'full');
    }
    while (this.#unwrittenBytes > maxUnwrittenBytes) {
      const oldest = this.#segments.find((segment) => isOld(segment) && segment.unwritten.length > 0);
      if (!oldest) break;
      this.#drop(oldest, 'full');
    }
  }

  #drop(segment: Segment, reason: 'full' | 'damaged'): void {
    const { untakenPoints: points, untakenBytes: bytes } = segment;
    this.untaken.points -= points;
    this.untaken.bytes -= bytes;
    this.all.points -= points;
    this.all.bytes -= bytes;
    segment.untakenPoints = 0;
    segment.untakenBytes = 0;
    this.#remove(segment);
    if (points > 0) this.listener.dropped(points, reason);
  }

  /** Removes the segments of which all is settled. */
  #sweep(): void {
    for (const segment of this.#segments) {
      if (segment === this.#tail || segment.untakenPoints > 0 || segment.open > 0) break;
      this.#remove(segment);
    }
  }

  #remove(segment: Segment): void {
    segment.isGone = true;
    segment.waiting = [];
    for (const { bytes } of segment.unwritten.splice(0)) this.#unwrittenBytes -= bytes;
    this.#segments = this.#segments.filter((one) => one !== segment);
    this.#fileBytes -= segment.bytes;
    if (segment.exists) unlink(segment.path).catch(() => undefined);
  }

  #grow(segment: Segment, bytes: number): void {
    segment.bytes += bytes;
    this.#fileBytes += bytes;
  }

  #countUntaken(segment: Segment, { points, bytes }: Batch, sign: 1 | -1): void {
    segment.untakenPoints += sign * points;
    segment.untakenBytes += sign * bytes;
    this.untaken.points += sign * points;
    this.untaken.bytes += sign * bytes;
  }

  /** Every point before this place is settled. */
  get #settled(): number {
    const [oldest] = this.#open;
    const untaken = this.#segments.find(({ untakenPoints }) => untakenPoints > 0)?.untaken ?? this.#nextPlace;
    return Math.min(oldest?.place ?? Infinity, untaken);
  }

  #write(): void {
    if (this.#isClosed) return;
    this.#writing ??= this.#writeAll().finally(() => (this.#writing = undefined));
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    await this.opened;
    clearTimeout(this.#retrying);
    this.#retrying = undefined;
    try {
      for (let segment = this.#unwritten(); segment; segment = this.#unwritten()) await this.#writeTo(segment);
    } catch (error) {
      await this.#file?.handle.close().catch(() => undefined);
      this.#file = undefined;
      this.listener.failed(failure(this.folder, error));
      this.#retrying ??= timer(retryMs, () => this.#write());
    }
    this.#evict();
  }

  #unwritten(): Segment | undefined {
    const tail = this.#tail;
    const isDue = tail && !tail.isGone && tail.exists && this.#settling === undefined && this.#settled > this.#settledOnDisk;
    return this.#segments.find(({ unwritten }) => unwritten.length > 0) ?? (isDue ? tail : undefined);
  }

  async #writeTo(segment: Segment): Promise<void> {
    const handle = await this.#handleOf(segment);
    const batches = segment.unwritten.slice();
    const settled = this.#settled;
    // Each segment begins with what is settled, so that the last one tells where to go on.
    const isTold = settled > this.#settledOnDisk || segment.writtenBytes === 0;
    const told = isTold ? [settledRecord(batches[0]?.place ?? this.#nextPlace, settled)] : [];
    const bytes = concat([...told, ...batches.map(({ place, points, text }) => batchRecord(place, points, text))]);
    for (let done = 0; done < bytes.length;)
      done += (await handle.write(bytes, done, bytes.length - done, segment.writtenBytes + done)).bytesWritten;
    segment.writtenBytes += bytes.length;
    this.#isDirty = true;
    this.#settledOnDisk = Math.max(this.#settledOnDisk, settled);
    if (segment.isGone) return void unlink(segment.path).catch(() => undefined);
    for (const { length } of told) this.#grow(segment, length);
    segment.unwritten.splice(0, batches.length);
    for (const batch of batches) this.#unwrittenBytes -= batch.bytes;
    this.#syncing ??= timer(syncMs, () => void this.#sync());
  }

  async #handleOf(segment: Segment): Promise<FileHandle> {
    if (this.#file?.segment === segment) return this.#file.handle;
    if (this.#file) {
      const { handle } = this.#file;
      this.#file = undefined;
      try {
        await handle.datasync();
      } finally {
        await handle.close();
      }
    }
    const handle = await open(segment.path, segment.exists ? 'r+' : 'w');
    this.#isFolderSynced &&= segment.exists;
    segment.exists = true;
    this.#file = { segment, handle };
    return handle;
  }

  /** Has what was written on the disk itself. Never rejects. */
  async #sync(): Promise<void> {
    clearTimeout(this.#syncing);
    this.#syncing = undefined;
    if (!this.#isDirty) return;
    this.#isDirty = false;
    try {
      await this.#file?.handle.datasync();
      if (!this.#isFolderSynced) await syncFolder(this.folder);
      this.#isFolderSynced = true;
    } catch (error) {
      // The file may have been closed meanwhile, after a sync of its own.
      if ((error as NodeJS.ErrnoException).code !== 'EBADF') this.listener.failed(failure(this.folder, error));
    }
  }
}

const newSegment = (path: string, place: number): Segment => ({
  path,
  place,
  bytes: 0,
  writtenBytes: 0,
  exists: false,
  isGone: false,
  waiting: [],
  untaken: place,
  untakenPoints: 0,
  untakenBytes: 0,
  open: 0,
  unwritten: [],
  failedReads: 0,
});

/** So that a new file is found after a power loss. Not every system can do that for folders. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close().catch(() => undefined);
}

function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function failure(folder: string, cause: unknown): HeadwaterError {
  if (cause instanceof HeadwaterError) return cause;
  return new HeadwaterError(`The buffer in ${folder} cannot be used (${(cause as Error).message}).`, 'buffer_failed', { cause });
}

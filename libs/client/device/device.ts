import { HeadwaterError } from '../error.js';
import type { Server } from '../request.js';
import { findServer, type ReadStored, type Where } from '../settings.js';
import { timer } from './bell.js';
import type { Buffer, BufferLimits, BufferListener } from './buffer.js';
import { Channel } from './channel.js';
import type { CommandHandler, HandlerOptions } from './commands.js';
import { Gatherer } from './gatherer.js';
import { HttpWay } from './http-way.js';
import { MemoryBuffer } from './memory-buffer.js';
import { checkSourceId, eventText, invalid, metricText, type PointOptions, type PointText, type Tags } from './point.js';
import { Sender } from './sender.js';

/** Points that the server will never take. Equal ones count together. */
export interface Refused {
  readonly kind: 'metric' | 'event';
  readonly name: string;
  readonly value: unknown;
  readonly tags: Tags;
  readonly timestampMs: number;
  readonly count: number;
  readonly error: HeadwaterError;
}

export interface Dropped {
  readonly points: number;
  /** `full`: newer points needed their room. `damaged`: the disk has lost them. `closed`: the device was closed and had no folder to leave them in. */
  readonly reason: 'full' | 'damaged' | 'closed';
}

export interface DeviceOptions extends Where {
  /** Name of the device: 1 to 256 of A-Z a-z 0-9 . _ : @ + -. */
  readonly sourceId: string;
  readonly buffer?: {
    /** Where points wait for the server. What was handed over more than a second ago is found there after a crash. Without it points wait in memory. */
    readonly folder?: string;
    /** 64 MiB in a folder and 16 MiB in memory. */
    readonly maxBytes?: number;
    /** `drop-oldest` makes room for new points, `reject` has `metric` and `event` throw. */
    readonly full?: 'drop-oldest' | 'reject';
  };
  /** A request is sent at the latest after `everyMs`, and earlier when it has so many points or bytes. */
  readonly batch?: { readonly everyMs?: number; readonly points?: number; readonly bytes?: number };
  /** Pauses between tries: the first is up to `firstMs`, each next one up to twice as long, up to `maxMs`. `slowMs` where somebody has to mend something first. */
  readonly retry?: { readonly firstMs?: number; readonly maxMs?: number; readonly slowMs?: number };
  readonly onRefused?: (refused: Refused) => void;
  readonly onDropped?: (dropped: Dropped) => void;
  readonly onError?: (error: HeadwaterError) => void;
  readonly webSocket?: typeof WebSocket;
  /** Unix milliseconds. */
  readonly clock?: () => number;
  /** Closes the device without waiting. */
  readonly signal?: AbortSignal;
}

export interface DeviceStats {
  readonly handedOver: number;
  readonly stored: number;
  readonly refused: number;
  readonly dropped: number;
  /** Handed over, or found in the folder, and none of the others. */
  readonly buffered: { readonly points: number; readonly bytes: number };
  readonly lastError: HeadwaterError | undefined;
}

/** Opens the buffer of a folder. @throws HeadwaterError */
export type OpenFolder = (folder: string, limits: BufferLimits, listener: BufferListener) => Buffer;

/** What differs from one place to run to the next. */
export interface Surroundings {
  readonly readStored: ReadStored;
  /** Undefined where there are no files. */
  readonly openFolder: OpenFolder | undefined;
}

const mib = 1024 * 1024;
/** Points that wait to be cut off as a batch are not in the buffer yet, so they must not wait long. */
const maxGatherMs = 250;
/** The same trouble is told so often at most. */
const tellEveryMs = 60_000;

/** A device that hands over points and answers commands. Nothing of it throws later, prints anything, or keeps the process alive. */
export class BaseDevice {
  readonly sourceId: string;
  readonly #gatherer: Gatherer;
  readonly #buffer: Buffer;
  readonly #sender: Sender;
  readonly #channel: Channel;
  readonly #isRejecting: boolean;
  readonly #gatherMs: number;
  #server: Promise<Server> | undefined;
  #gathering: ReturnType<typeof setTimeout> | undefined;
  #closing: Promise<void> | undefined;
  readonly #counts = { handedOver: 0, stored: 0, refused: 0, dropped: 0 };
  #lastError: HeadwaterError | undefined;
  /** When each kind of trouble was told last. */
  readonly #toldMs = new Map<string, number>();

  /** @throws HeadwaterError `invalid_argument`, and `buffer_in_use` when another process has the folder. */
  constructor(
    private readonly options: DeviceOptions,
    private readonly surroundings: Surroundings,
  ) {
    this.sourceId = checkSourceId(options.sourceId);
    const { folder, maxBytes = (folder === undefined ? 16 : 64) * mib, full = 'drop-oldest' } = options.buffer ?? {};
    const { everyMs = 1000, points = 5000, bytes = mib / 2 } = options.batch ?? {};
    const { firstMs = 500, maxMs = 30_000, slowMs = 30_000 } = options.retry ?? {};
    checkNumber('buffer.maxBytes', maxBytes, mib, Number.MAX_SAFE_INTEGER);
    checkNumber('batch.everyMs', everyMs, 0, 86_400_000);
    checkNumber('batch.points', points, 1, 10_000);
    checkNumber('batch.bytes', bytes, 1, 4 * mib);
    for (const [name, value] of Object.entries({ firstMs, maxMs, slowMs })) checkNumber(`retry.${name}`, value, 1, 86_400_000);
    if (full !== 'drop-oldest' && full !== 'reject') throw invalid("Give buffer.full 'drop-oldest' or 'reject'.");
    this.#isRejecting = full === 'reject';
    this.#gatherMs = Math.min(everyMs, maxGatherMs);
    this.#gatherer = new Gatherer(options.clock ?? Date.now);
    this.#buffer = this.#openBuffer(folder, { maxBytes, full });
    const limits = { everyMs: everyMs - this.#gatherMs, points, bytes };
    const http = new HttpWay(() => this.#findServer(), this.sourceId);
    const pace = { firstMs, maxMs, slowMs };
    this.#sender = new Sender(this.#buffer, http, limits, pace, {
      stored: (count) => this.#stored(count),
      refused: (texts, error) => this.#refused(texts, error),
      failed: (error) => this.#failed(error),
    });
    this.#channel = new Channel(
      () => this.#findServer(),
      this.sourceId,
      pace,
      { ready: () => this.#sender.wake(), failed: (error) => this.#failed(error) },
      options.webSocket,
    );
    this.#sender.channel = this.#channel;
    void this.#sender.run();
    if (options.signal?.aborted) this.#abort();
    else options.signal?.addEventListener('abort', this.#abort, { once: true });
  }

  get stats(): DeviceStats {
    const buffered = {
      points: this.#gatherer.points + this.#buffer.points,
      bytes: this.#gatherer.bytes + this.#buffer.bytes,
    };
    return { ...this.#counts, buffered, lastError: this.#lastError };
  }

  /** Hands a number over, with the time of now. @throws HeadwaterError `invalid_argument`, `buffer_full`, `closed`. */
  metric(name: string, value: number, { tags, timestampMs }: PointOptions = {}): void {
    const text = metricText(name, value, tags);
    this.#checkRoom(text);
    this.#gatherer.metric(text, timestampMs);
    this.#handedOver();
  }

  /** Hands something over that has happened, with the time of now: any JSON. @throws HeadwaterError `invalid_argument`, `buffer_full`, `closed`. */
  event(name: string, value: unknown = null, { tags, timestampMs }: PointOptions = {}): void {
    const text = eventText(name, value, tags);
    this.#checkRoom(text);
    this.#gatherer.event(text, timestampMs);
    this.#handedOver();
  }

  /**
   * Has commands of this name carried out. Commands of one name wait for each other unless `parallel` says otherwise. They come once the device
   * is connected. @throws HeadwaterError `invalid_argument`
   */
  command(name: string, handler: CommandHandler, options: HandlerOptions = {}): void {
    this.#channel.commands.handle(name, handler, options);
  }

  /**
   * Opens the real-time channel, over which commands come and points go, and opens it again whenever it ends. Resolves once the server lets the
   * device in, which may take as long as the server is away. Rejects `HeadwaterError` when the server refuses it, and with the reason of `signal`; even
   * then the device goes on trying.
   */
  connect({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    if (this.#closing) return quiet(Promise.reject(closed()));
    return until(this.#channel.connect(), signal);
  }

  /** Resolves when everything that was handed over until now is stored, refused or dropped. Rejects with the reason of `signal`. */
  flush({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#cut();
    return until(this.#sender.flush(), signal);
  }

  /**
   * Sends what is there and ends everything. What is left after `timeoutMs` stays in the folder for the next start, and is dropped where there is
   * none. Never rejects.
   */
  close({ timeoutMs = 10_000 }: { readonly timeoutMs?: number } = {}): Promise<void> {
    return (this.#closing ??= this.#close(timeoutMs));
  }

  readonly #abort = (): void => void this.close({ timeoutMs: 0 });

  async #close(timeoutMs: number): Promise<void> {
    this.options.signal?.removeEventListener('abort', this.#abort);
    this.#cut();
    if (timeoutMs > 0) {
      const late = Promise.withResolvers<void>();
      const limit = timer(timeoutMs, late.resolve);
      this.#channel.commands.close();
      await Promise.race([Promise.all([this.#sender.flush(), this.#channel.reported()]), late.promise]);
      clearTimeout(limit);
    }
    this.#sender.close();
    this.#channel.close();
    await this.#buffer.close().catch((error: unknown) => this.#failed(error));
    if (this.options.buffer?.folder === undefined && this.#buffer.points > 0) this.#dropped(this.#buffer.points, 'closed');
  }

  #openBuffer(folder: string | undefined, limits: BufferLimits): Buffer {
    const listener: BufferListener = {
      dropped: (points, reason) => {
        this.#dropped(points, reason);
        this.#sender.dropped(points);
      },
      failed: (error) => this.#failed(error),
    };
    if (folder === undefined) return new MemoryBuffer(limits, listener);
    const { openFolder } = this.surroundings;
    if (!openFolder) throw invalid('Leave buffer.folder out: there are no files in a browser.');
    return openFolder(folder, limits, listener);
  }

  #findServer(): Promise<Server> {
    return (this.#server ??= findServer(this.options, this.surroundings.readStored).catch((error: unknown) => {
      this.#server = undefined;
      throw error;
    }));
  }

  #checkRoom({ head, tail }: PointText): void {
    if (this.#closing) throw closed();
    if (!this.#isRejecting || this.#buffer.hasRoom(this.#gatherer.bytes + head.length + tail.length)) return;
    throw new HeadwaterError(
      'The buffer is full: wait until the server has taken some of it, or give buffer.maxBytes more.',
      'buffer_full',
    );
  }

  #handedOver(): void {
    this.#counts.handedOver++;
    if (this.#gatherer.isFull) this.#cut();
    else this.#gathering ??= timer(this.#gatherMs, () => this.#cut());
  }

  #cut(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    const batch = this.#gatherer.cut();
    if (!batch) return;
    this.#buffer.add(batch);
    this.#sender.wake();
  }

  #stored(points: number): void {
    this.#counts.stored += points;
  }

  #refused(texts: readonly string[], error: HeadwaterError): void {
    this.#counts.refused += texts.length;
    const counts = new Map<string, number>();
    for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
    for (const [text, count] of counts) this.#tell(this.options.onRefused, { ...pointOf(text), count, error });
  }

  #dropped(points: number, reason: Dropped['reason']): void {
    this.#counts.dropped += points;
    this.#tell(this.options.onDropped, { points, reason });
  }

  #failed(error: unknown): void {
    const known =
      error instanceof HeadwaterError ? error : new HeadwaterError('Something went wrong in the library.', 'internal', { cause: error });
    // The key may have been replaced meanwhile where it is kept.
    if (known.status === 401) this.#server = undefined;
    this.#lastError = known;
    const kind = `${known.code} ${known.status}`;
    const nowMs = performance.now();
    if (nowMs - (this.#toldMs.get(kind) ?? -Infinity) < tellEveryMs) return;
    this.#toldMs.set(kind, nowMs);
    this.#tell(this.options.onError, known);
  }

  /** What a listener throws is its own affair. */
  #tell<T>(listener: ((what: T) => void) | undefined, what: T): void {
    try {
      listener?.(what);
    } catch (cause) {
      this.#lastError = new HeadwaterError('A listener of the device has thrown.', 'internal', { cause });
    }
  }
}

const closed = (): HeadwaterError => new HeadwaterError('The device was closed: make another one.', 'closed');

/** A promise that nobody needs to look at: it may reject without ending the process. */
function quiet(promise: Promise<void>): Promise<void> {
  promise.catch(() => undefined);
  return promise;
}

/** Waits for a promise, but no longer than `signal` says. */
const until = (done: Promise<void>, signal: AbortSignal | undefined): Promise<void> => quiet(signal ? orAborted(done, signal) : done);

async function orAborted(done: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([done, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function pointOf(text: string): Omit<Refused, 'count' | 'error'> {
  const { class: kind = 'metric', metric: name, value, timestamp, tags = {} } = JSON.parse(text) as SentPoint;
  const timestampMs = timestamp < 1e12 ? Math.round(timestamp * 1000) : timestamp < 1e14 ? timestamp : Math.round(timestamp / 1e6);
  return { kind, name, value, tags, timestampMs };
}

interface SentPoint {
  readonly class?: 'event';
  readonly metric: string;
  readonly value: unknown;
  readonly timestamp: number;
  readonly tags?: Tags;
}

function checkNumber(name: string, value: number, min: number, max: number): void {
  if (!Number.isFinite(value) || value < min || value > max) throw invalid(`Give ${name} a number from ${min} to ${max}, not ${value}.`);
}

import { HeadwaterError, invalid } from '../error.js';
import { type FindServer, keptServer, serverOf, type Where } from '../settings.js';
import { onAbort, timer, until, within } from '../waiting.js';
import type { Buffer, BufferLimits, BufferListener } from './buffer.js';
import { type Channel, channelTo, closed } from './channel.js';
import type { CommandHandler, HandlerOptions } from './commands.js';
import { type Gatherer, gatherer } from './gatherer.js';
import { httpWay } from './http-way.js';
import { memoryBuffer } from './memory-buffer.js';
import { eventText, metricText, type PointOptions, type PointText } from './point.js';
import { type Listeners, type Report, reportTo } from './report.js';
import { type Sender, startSender } from './sender.js';

export interface DeviceOptions extends Where, Listeners {
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

const noFolders: OpenFolder = () => {
  throw invalid('Leave buffer.folder out: a browser has no files.');
};

const mib = 1024 * 1024;
/** The server takes no more in one body. */
const maxPoints = 10_000;
const sourceIdPattern = /^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,255}$/;
/** Points that wait to be cut off as a batch are not in the buffer yet, so they must not wait long. */
const maxGatherMs = 250;

/** A device that hands over points and answers commands. Nothing of it throws later, prints anything, or keeps the process alive, except `close` while it sends. */
export class BaseDevice {
  readonly sourceId: string;
  readonly #isRejecting: boolean;
  readonly #report: Report;
  readonly #gatherer: Gatherer;
  readonly #gatherMs: number;
  readonly #buffer: Buffer;
  readonly #channel: Channel;
  readonly #sender: Sender;
  readonly #release: () => void;
  #gathering: ReturnType<typeof setTimeout> | undefined;
  #closing: Promise<void> | undefined;

  /** @throws HeadwaterError `invalid_argument`, and `buffer_in_use` when another process has the folder. */
  constructor(options: DeviceOptions, find: FindServer = serverOf, openFolder = noFolders) {
    const {
      sourceId,
      buffer: { folder, maxBytes = (folder === undefined ? 16 : 64) * mib, full = 'drop-oldest' } = {},
      batch: { everyMs = 1000, points = 5000, bytes = mib / 2 } = {},
      retry: { firstMs = 500, maxMs = 30_000, slowMs = 30_000 } = {},
      clock = Date.now,
      webSocket,
      signal,
    } = options;
    if (!sourceIdPattern.test(sourceId ?? ''))
      throw invalid('Give sourceId 1 to 256 of A-Z a-z 0-9 . _ : @ + - and begin with a letter or digit.');
    if (![everyMs + 1, points, bytes, maxBytes, firstMs, maxMs, slowMs].every((value) => value > 0))
      throw invalid('Give the options batch, buffer.maxBytes and retry numbers above 0.');
    this.sourceId = sourceId;
    const limits = { maxBytes, full };
    const pace = { firstMs, maxMs, slowMs };

    const { server, forget } = keptServer(options, find);
    // The key may have been replaced meanwhile where it is kept.
    const report = (this.#report = reportTo(options, forget));
    const { failed } = report;
    const ofBuffer: BufferListener = {
      dropped: (count, reason) => {
        report.dropped(count, reason);
        this.#sender.dropped(count);
      },
      failed,
    };
    this.#isRejecting = full === 'reject';
    this.#gatherMs = Math.min(everyMs, maxGatherMs);
    this.#gatherer = gatherer(clock);
    this.#buffer = folder === undefined ? memoryBuffer(limits, ofBuffer) : openFolder(folder, limits, ofBuffer);
    this.#channel = channelTo(server, sourceId, pace, { ready: () => this.#sender.wake(), failed }, webSocket);
    const batches = { everyMs: everyMs - this.#gatherMs, points: Math.min(points, maxPoints), bytes };
    this.#sender = startSender(this.#buffer, httpWay(server, sourceId), batches, pace, report, this.#channel);
    this.#release = onAbort(signal, () => void this.close({ timeoutMs: 0 }));
  }

  get stats(): DeviceStats {
    const { counts, lastError } = this.#report;
    const { points, bytes } = this.#buffer.all;
    return { ...counts, buffered: { points: this.#gatherer.points + points, bytes: this.#gatherer.chars + bytes }, lastError };
  }

  /** Hands a number over, with the time of now. @throws HeadwaterError `invalid_argument`, `buffer_full`, `closed`. */
  metric(name: string, value: number, { tags, timestampMs }: PointOptions = {}): void {
    this.#handOver(metricText(name, value, tags), timestampMs);
  }

  /** Hands something over that has happened, with the time of now: any JSON. @throws HeadwaterError `invalid_argument`, `buffer_full`, `closed`. */
  event(name: string, value: unknown = null, { tags, timestampMs }: PointOptions = {}): void {
    this.#handOver(eventText(name, value, tags), timestampMs);
  }

  /**
   * Has commands of this name carried out. Commands of one name wait for each other unless `parallel` says otherwise. They come once the device
   * is connected, and it has to have all of its handlers by then. @throws HeadwaterError `invalid_argument`
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
    return quiet(this.#closing ? Promise.reject(closed()) : until(this.#channel.connect(), signal));
  }

  /**
   * Resolves when everything that was handed over until now is stored, refused or dropped. Rejects with the reason of `signal`. A process in which nothing
   * else goes on ends without it.
   */
  flush({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#cut();
    return quiet(until(this.#sender.flush(), signal));
  }

  /**
   * Sends what is there and ends everything. What is left after `timeoutMs` stays in the folder for the next start, and is dropped where there is
   * none. Never rejects.
   */
  close({ timeoutMs = 10_000 }: { readonly timeoutMs?: number } = {}): Promise<void> {
    return (this.#closing ??= this.#close(timeoutMs));
  }

  async #close(timeoutMs: number): Promise<void> {
    this.#cut();
    if (timeoutMs > 0) {
      this.#channel.commands.close();
      const sent = Promise.all([this.#sender.flush(), this.#channel.reported()]);
      await new Promise<void>((resolve) => void within(timeoutMs, sent, resolve).then(() => resolve()));
    }
    // The signal may have closed the device while it was made.
    this.#release?.();
    this.#sender.close();
    this.#channel.close();
    await this.#buffer.close().catch(this.#report.failed);
    const { points } = this.#buffer.all;
    if (!this.#buffer.saved && points > 0) this.#report.dropped(points, 'closed');
  }

  #handOver(text: PointText, timestampMs: number | undefined): void {
    if (this.#closing) throw closed();
    const bytes = this.#gatherer.chars + text.head.length + text.tail.length;
    if (this.#isRejecting && !this.#buffer.hasRoom(bytes))
      throw new HeadwaterError('The buffer is full: wait a little, or give buffer.maxBytes more.', 'buffer_full');
    this.#gatherer.add(text, timestampMs);
    this.#report.counts.handedOver++;
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
}

/** A promise that nobody needs to look at: it may reject without ending the process. */
function quiet(promise: Promise<void>): Promise<void> {
  promise.catch(() => undefined);
  return promise;
}

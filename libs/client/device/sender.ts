import { HeadwaterError } from '../error.js';
import { mayPass, pauseMs } from '../retry.js';
import { Bell } from './bell.js';
import type { Buffer } from './buffer.js';
import type { HttpWay } from './http-way.js';
import { halves, Parcel, Taken } from './parcel.js';

/** How a frame of the channel ended: it is stored, or refused, or nobody knows. */
export type Outcome = 'stored' | 'refused' | 'unknown';

/** The real-time channel, as far as points go over it. */
export interface PointChannel {
  /** Whether points can be sent now. */
  readonly isOpen: boolean;
  readonly hasRoom: boolean;
  /** Never rejects. */
  send(points: string): Promise<Outcome>;
}

export interface SenderLimits {
  /** How long points wait for others. */
  readonly everyMs: number;
  readonly points: number;
  readonly bytes: number;
}

export interface Pace {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Between tries that only help once somebody has mended something. */
  readonly slowMs: number;
}

export interface SenderListener {
  stored(points: number): void;
  /** Equal points that the server does not take. */
  refused(texts: readonly string[], error: HeadwaterError): void;
  /** Something is wrong that takes time or a person to mend. */
  failed(error: unknown): void;
}

/** Times that points of too many new series are tried before they are given up, each as late as the server asks for. */
const maxSeriesTries = 100;
/** Parcels of too many new series that wait for their time. */
const maxWaiting = 100;

/** Brings what is in a buffer to the server, oldest first, over the channel where it is open and with HTTP requests otherwise. */
export class Sender {
  readonly #bell = new Bell();
  readonly #end = new AbortController();
  /** Parcels that have to be sent again. */
  #again: Parcel[] = [];
  /** Of everything that was taken, what is not settled; the oldest first. */
  readonly #open = new Set<Taken>();
  /** Points that were taken or dropped: the place in the stream of all points. */
  #place = 0;
  #flushes: { readonly place: number; readonly done: () => void }[] = [];
  /** When the oldest points came that nobody has taken. */
  #sinceMs: number | undefined;
  /** Nothing is sent over HTTP before. */
  #restUntilMs = 0;
  #tries = 0;
  /** Flights on the channel. */
  #flying = 0;
  #maxBytes: number;
  /** Series that the server has taken, once it has said that there are too many. */
  #known: Set<string> | undefined;
  channel: PointChannel | undefined;

  constructor(
    private readonly buffer: Buffer,
    private readonly http: HttpWay,
    private readonly limits: SenderLimits,
    private readonly pace: Pace,
    private readonly listener: SenderListener,
  ) {
    this.#maxBytes = limits.bytes;
  }

  /** Sends until it is closed. Never rejects. */
  async run(): Promise<void> {
    while (!this.#end.signal.aborted) {
      try {
        if (!(await this.#step())) await this.#bell.wait(this.#idleMs());
      } catch (error) {
        this.listener.failed(error);
        await this.#bell.wait(this.pace.slowMs);
      }
    }
  }

  /** There is something new to look at. */
  wake(): void {
    this.#bell.ring();
  }

  /** Points that nobody had taken were dropped. */
  dropped(points: number): void {
    this.#place += points;
    this.#tellFlushed();
  }

  /** Resolves when everything that is in the buffer now is settled. */
  async flush(): Promise<void> {
    await this.buffer.opened;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#flushes.push({ place: this.#place + this.buffer.untakenPoints, done: resolve });
    this.#tellFlushed();
    this.#bell.ring();
    await promise;
  }

  /** Stops at once. */
  close(): void {
    this.#end.abort();
    this.#bell.ring();
  }

  /** False when there is nothing to do now. */
  async #step(): Promise<boolean> {
    const nowMs = performance.now();
    const channel = this.channel?.isOpen ? this.channel : undefined;
    if (channel ? !channel.hasRoom : this.#flying > 0 || this.#restUntilMs > nowMs) return false;
    const parcel = this.#due(nowMs) ?? (await this.#take(nowMs));
    if (!parcel) return false;
    if (channel?.isOpen && !parcel.isSuspect) void this.#overChannel(channel, parcel);
    else await this.#overHttp(parcel);
    return true;
  }

  /** How long nothing happens by itself. */
  #idleMs(): number {
    const nowMs = performance.now();
    const channel = this.channel?.isOpen ? this.channel : undefined;
    if (channel ? !channel.hasRoom : this.#flying > 0) return Infinity;
    const newMs = this.buffer.untakenPoints > 0 ? (this.#sinceMs ?? nowMs) + this.limits.everyMs : Infinity;
    const nextMs = Math.min(newMs, ...this.#again.map((parcel) => this.#readyMs(parcel)));
    return Math.max(0, Math.max(nextMs, channel ? 0 : this.#restUntilMs) - nowMs);
  }

  #readyMs({ dueMs, isSuspect }: Parcel): number {
    return isSuspect ? Math.max(dueMs, this.#restUntilMs) : dueMs;
  }

  /** The first parcel that has to be sent again and may be. */
  #due(nowMs: number): Parcel | undefined {
    const at = this.#again.findIndex((parcel) => this.#readyMs(parcel) <= nowMs);
    return at < 0 ? undefined : this.#again.splice(at, 1)[0];
  }

  /** New points, when enough are there or the oldest have waited for long enough. */
  async #take(nowMs: number): Promise<Parcel | undefined> {
    const { untakenPoints, untakenBytes } = this.buffer;
    if (untakenPoints === 0) return undefined;
    this.#sinceMs ??= nowMs;
    const { points, bytes, everyMs } = this.limits;
    const isDue = this.#flushes.length > 0 || untakenPoints >= points || untakenBytes >= bytes || nowMs - this.#sinceMs >= everyMs;
    if (!isDue) return undefined;
    const batches = await this.buffer.take(points, this.#maxBytes);
    this.#sinceMs = this.buffer.untakenPoints > 0 ? this.#sinceMs : undefined;
    if (batches.length === 0) return undefined;
    const taken = new Taken(batches, this.#place, (done) => this.#settled(done));
    this.#open.add(taken);
    const parcel = Parcel.of(taken);
    this.#place += parcel.points;
    return parcel;
  }

  async #overChannel(channel: PointChannel, parcel: Parcel): Promise<void> {
    this.#flying++;
    const outcome = await channel.send(parcel.text);
    this.#flying--;
    if (outcome === 'stored') this.#stored(parcel);
    else {
      parcel.isSuspect = outcome === 'refused';
      this.#putBack(parcel);
    }
    this.#bell.ring();
  }

  async #overHttp(parcel: Parcel): Promise<void> {
    try {
      await this.http.post(parcel.text, this.#end.signal);
      this.#tries = 0;
      this.#stored(parcel);
    } catch (error) {
      if (this.#end.signal.aborted) return;
      this.#judge(parcel, error);
    }
  }

  #judge(parcel: Parcel, error: unknown): void {
    if (error instanceof HeadwaterError) {
      if (error.status === 415 && this.http.zips) {
        this.http.zips = false;
        return this.#putBack(parcel);
      }
      if (error.code === 'too_many_series') return this.#tooManySeries(parcel, error);
      // Something else than the server may answer 400 to everything; that its limit for bodies is lower is believed.
      if (error.status === 400 && error.code !== 'not_headwater') return this.#refused(parcel, error);
      if (error.status === 413 && this.#smaller(parcel, error)) return;
    }
    this.listener.failed(error);
    this.#putBack(parcel);
    const bounds = mayPass(error) ? this.pace : { firstMs: this.pace.slowMs, maxMs: 10 * this.pace.slowMs };
    const floorMs = mayPass(error) ? 0 : this.pace.slowMs / 2;
    this.#restUntilMs = performance.now() + floorMs + pauseMs(error, this.#tries++, bounds);
  }

  /** Takes out the points that the server names, or looks for the bad ones in each half. */
  #refused(parcel: Parcel, error: HeadwaterError): void {
    const texts = parcel.texts();
    const named = new Set(error.errors.map(({ pointer }) => texts[Number(/^\/points\/(\d+)(?:\/|$)/.exec(pointer)?.[1] ?? NaN)]));
    named.delete(undefined);
    const [bad, good] = named.size > 0 ? [texts.filter((text) => named.has(text)), texts.filter((text) => !named.has(text))] : [[], texts];
    if (bad.length > 0) {
      this.listener.refused(bad, error);
      if (good.length > 0) this.#putBack(...parcel.parts(good));
      else parcel.taken.settle();
      return;
    }
    const [one, other] = halves(texts);
    if (other.length > 0) return this.#putBack(...parcel.parts(one, other));
    this.listener.refused(texts, error);
    parcel.taken.settle();
  }

  #smaller(parcel: Parcel, error: HeadwaterError): boolean {
    const texts = parcel.texts();
    const [one, other] = halves(texts);
    if (other.length > 0) {
      this.#maxBytes = Math.max(1024, Math.ceil(Math.min(this.#maxBytes, parcel.text.length) / 2));
      this.#putBack(...parcel.parts(one, other));
    } else if (error.code === 'not_headwater') return false;
    else {
      this.listener.refused(texts, error);
      parcel.taken.settle();
    }
    return true;
  }

  /** New series may fit later, so they wait on their own while the points of known ones go on. */
  #tooManySeries(parcel: Parcel, error: HeadwaterError): void {
    const isFirst = this.#known === undefined;
    this.#known ??= new Set();
    const known = this.#known;
    if (isFirst) this.listener.failed(error);
    const texts = parcel.texts();
    const old = texts.filter((text) => known.has(seriesOf(text)));
    const fresh = texts.filter((text) => !known.has(seriesOf(text)));
    const waitMs = performance.now() + pauseMs(error, 0, this.pace);
    if (old.length > 0 && fresh.length > 0) {
      const [now, later] = parcel.parts(old, fresh) as [Parcel, Parcel];
      later.dueMs = waitMs;
      later.tries = parcel.tries + 1;
      this.#putBack(now, later);
      return this.#giveUpOldest(error);
    }
    const [one, other] = halves(texts, seriesOf);
    if (other.length === 0 && parcel.tries >= maxSeriesTries) {
      this.listener.refused(texts, error);
      return parcel.taken.settle();
    }
    const parts = other.length > 0 ? parcel.parts(one, other) : [parcel];
    for (const [at, part] of parts.entries()) {
      // The first time a half is tried at once: it may be that only the other one has anything new.
      part.dueMs = parcel.tries === 0 && at === 0 && parts.length > 1 ? 0 : waitMs;
      part.tries = parcel.tries + 1;
    }
    this.#putBack(...parts);
    this.#giveUpOldest(error);
  }

  #giveUpOldest(error: HeadwaterError): void {
    const waiting = this.#again.filter(({ dueMs }) => dueMs > performance.now());
    for (const parcel of waiting.slice(0, Math.max(0, waiting.length - maxWaiting))) {
      this.#again.splice(this.#again.indexOf(parcel), 1);
      this.listener.refused(parcel.texts(), error);
      parcel.taken.settle();
    }
  }

  /** In the order in which they were taken. */
  #putBack(...parcels: readonly Parcel[]): void {
    const [first] = parcels;
    if (!first) return;
    const at = this.#again.findIndex(({ taken }) => taken.start >= first.taken.start);
    this.#again.splice(at < 0 ? this.#again.length : at, 0, ...parcels);
  }

  #stored(parcel: Parcel): void {
    this.listener.stored(parcel.points);
    if (this.#known) for (const text of parcel.texts()) this.#remember(seriesOf(text));
    parcel.taken.settle();
  }

  #remember(series: string): void {
    if (this.#known!.size >= 10_000) this.#known!.clear();
    this.#known!.add(series);
  }

  #settled(taken: Taken): void {
    this.buffer.settle(taken.batches);
    this.#open.delete(taken);
    this.#tellFlushed();
  }

  #tellFlushed(): void {
    if (this.#flushes.length === 0) return;
    const [oldest] = this.#open;
    const place = oldest?.start ?? this.#place;
    const isDone = (flush: { readonly place: number }): boolean => place >= flush.place;
    for (const { done } of this.#flushes.filter(isDone)) done();
    this.#flushes = this.#flushes.filter((flush) => !isDone(flush));
  }
}

/** What the server counts as one series: kind, name and tags. */
function seriesOf(text: string): string {
  const { metric, tags, class: kind } = JSON.parse(text) as { metric: string; tags?: object; class?: string };
  return JSON.stringify([kind, metric, tags]);
}

import { HeadwaterError } from '../error.js';
import { mayPass, pauseMs } from '../retry.js';
import { bell, monotonicMs } from '../waiting.js';
import type { Buffer } from './buffer.js';
import type { Post } from './http-way.js';
import { divided, type GroupOf, halves, type Parcel, parcelOf, partsOf, type Taken, textsOf } from './parcel.js';

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

/** Brings what is in a buffer to the server, oldest first, over the channel where it is open and with HTTP requests otherwise. */
export interface Sender {
  /** There is something new to look at. */
  wake(): void;
  /** Points that nobody had taken were dropped. */
  dropped(points: number): void;
  /** Resolves when everything that is in the buffer now is settled. */
  flush(): Promise<void>;
  /** Stops at once. */
  close(): void;
}

/** Parcels of new series that wait until the server has room for them. */
const maxWaiting = 100;

/** Begins to send. */
export function startSender(
  buffer: Buffer,
  post: Post,
  limits: SenderLimits,
  pace: Pace,
  listener: SenderListener,
  channel?: PointChannel,
): Sender {
  const { ring, wait } = bell();
  const end = new AbortController();
  /** Parcels that have to be sent again. */
  const again: Parcel[] = [];
  /** Of everything that was taken, what is not settled; the oldest first. */
  const open = new Set<Taken>();
  /** Points that were taken or dropped: the place in the stream of all points. */
  let place = 0;
  let flushes: { readonly place: number; readonly done: () => void }[] = [];
  /** When the oldest points came that nobody has taken. */
  let sinceMs: number | undefined;
  /** Nothing is sent over HTTP before. */
  let restUntilMs = 0;
  let tries = 0;
  /** Frames on the channel. */
  let flying = 0;
  let maxBytes = limits.bytes;

  async function run(): Promise<void> {
    while (!end.signal.aborted) {
      try {
        await step();
      } catch (error) {
        listener.failed(error);
        await wait(pace.slowMs);
      }
    }
  }

  /** Sends one parcel, or waits until there may be something to send. */
  async function step(): Promise<void> {
    const way = channel?.isOpen ? channel : undefined;
    if (way ? !way.hasRoom : flying > 0) return wait(Infinity);
    const nowMs = monotonicMs();
    const restMs = way ? 0 : restUntilMs;
    const dueMs = again.map((parcel) => Math.max(parcel.dueMs, parcel.isSuspect ? restUntilMs : restMs));
    const newMs = Math.max(restMs, newDueMs(nowMs));
    const at = dueMs.findIndex((ms) => ms <= nowMs);
    if (at < 0 && newMs > nowMs) return wait(Math.min(newMs, ...dueMs) - nowMs);
    const parcel = at < 0 ? await take() : again.splice(at, 1)[0];
    if (!parcel) return wait(0);
    if (way?.isOpen && !parcel.isSuspect) void overChannel(way, parcel);
    else await overHttp(parcel);
  }

  /** When new points have to go: as soon as there are enough, or once the oldest have waited for long enough. */
  function newDueMs(nowMs: number): number {
    const { points, bytes } = buffer.untaken;
    if (points === 0) return Infinity;
    sinceMs ??= nowMs;
    const isEnough = flushes.length > 0 || points >= limits.points || bytes >= limits.bytes;
    return isEnough ? 0 : sinceMs + limits.everyMs;
  }

  async function take(): Promise<Parcel | undefined> {
    const batches = await buffer.take(limits.points, maxBytes);
    if (buffer.untaken.points === 0) sinceMs = undefined;
    if (batches.length === 0) return undefined;
    const parcel = parcelOf(batches, place);
    open.add(parcel.taken);
    place += parcel.points;
    return parcel;
  }

  async function overChannel(way: PointChannel, parcel: Parcel): Promise<void> {
    flying++;
    const outcome = await way.send(parcel.text);
    flying--;
    if (outcome === 'stored') stored(parcel);
    else {
      parcel.isSuspect = outcome === 'refused';
      putBack(parcel);
    }
    ring();
  }

  async function overHttp(parcel: Parcel): Promise<void> {
    try {
      await post(parcel.text, end.signal);
      tries = 0;
      stored(parcel);
    } catch (error) {
      if (!end.signal.aborted && !(error instanceof HeadwaterError && mended(parcel, error))) rest(parcel, error);
    }
  }

  function stored(parcel: Parcel): void {
    listener.stored(parcel.points);
    replace(parcel);
  }

  /** The fault is not one of the points: they are sent again after a pause. */
  function rest(parcel: Parcel, error: unknown): void {
    listener.failed(error);
    putBack(parcel);
    const { slowMs } = pace;
    const isSlow = !mayPass(error);
    const ms = pauseMs(error, tries++, isSlow ? { firstMs: slowMs, maxMs: 10 * slowMs } : pace);
    restUntilMs = monotonicMs() + ms + (isSlow ? slowMs / 2 : 0);
  }

  /** Whether the fault is one of the points, so that something was done about them. */
  function mended(parcel: Parcel, error: HeadwaterError): boolean {
    const { code, status } = error;
    // Something else than the server may answer 400 to everything; that its limit for bodies is lower is believed.
    const isOfServer = code !== 'not_headwater';
    if (code === 'too_many_series') tooManySeries(parcel, error);
    else if (status === 413 && cutInTwo(parcel)) maxBytes = Math.max(1024, Math.min(maxBytes, parcel.text.length) / 2);
    else if (isOfServer && (status === 413 || status === 400)) refused(parcel, error);
    else return false;
    return true;
  }

  /** Takes out the points that the server names, or looks for the bad ones in each half. */
  function refused(parcel: Parcel, error: HeadwaterError): void {
    const texts = textsOf(parcel);
    const named = new Set(error.errors.map(({ pointer }) => texts[Number(/^\/points\/(\d+)/.exec(pointer)?.[1])]));
    const [bad, good] = divided(texts, (text) => named.has(text));
    if (bad.length > 0) giveUp(parcel, error, bad, good);
    else if (!cutInTwo(parcel)) giveUp(parcel, error);
  }

  /** New series may fit later. Each waits on its own, so that the points of all others go on. */
  function tooManySeries(parcel: Parcel, error: HeadwaterError): void {
    listener.failed(error);
    if (cutInTwo(parcel, seriesOf)) return;
    parcel.dueMs = monotonicMs() + pauseMs(error, 0, pace);
    putBack(parcel);
    const [oldest, ...others] = again.filter(({ dueMs }) => dueMs > 0);
    if (others.length < maxWaiting) return;
    again.splice(again.indexOf(oldest!), 1);
    giveUp(oldest!, error);
  }

  /** Whether the parcel has two halves, which then take its place. */
  function cutInTwo(parcel: Parcel, groupOf?: GroupOf): boolean {
    const [one, other] = halves(textsOf(parcel), groupOf);
    if (other.length > 0) replace(parcel, one, other);
    return other.length > 0;
  }

  /** The server will never take these points, which are all of the parcel unless some are good. */
  function giveUp(parcel: Parcel, error: HeadwaterError, bad = textsOf(parcel), good: readonly string[] = []): void {
    listener.refused(bad, error);
    replace(parcel, good);
  }

  /** Puts parts in the place of a parcel; without any it is settled. */
  function replace(parcel: Parcel, ...lists: readonly (readonly string[])[]): void {
    putBack(...partsOf(parcel, ...lists));
    const { taken } = parcel;
    if (taken.parcels > 0) return;
    buffer.settle(taken.batches);
    open.delete(taken);
    tellFlushed();
  }

  /** In the order in which they were taken. */
  function putBack(...parcels: readonly Parcel[]): void {
    const start = parcels[0]?.taken.start ?? 0;
    const at = again.findIndex(({ taken }) => taken.start >= start);
    again.splice(at < 0 ? again.length : at, 0, ...parcels);
  }

  function tellFlushed(): void {
    const [oldest] = open;
    const settled = oldest?.start ?? place;
    for (const flush of flushes) if (flush.place <= settled) flush.done();
    flushes = flushes.filter((flush) => flush.place > settled);
  }

  void run();
  return {
    wake: ring,
    dropped(points) {
      place += points;
      tellFlushed();
    },
    async flush() {
      await buffer.opened;
      await new Promise<void>((done) => {
        flushes.push({ place: place + buffer.untaken.points, done });
        tellFlushed();
        ring();
      });
    },
    close() {
      end.abort();
      ring();
    },
  };
}

/** What the server counts as one series: kind, name and tags. */
function seriesOf(text: string): string {
  const { metric, tags, class: kind } = JSON.parse(text) as { metric: string; tags?: object; class?: string };
  return JSON.stringify([kind, metric, tags]);
}

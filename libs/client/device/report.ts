import { HeadwaterError, known } from '../error.js';
import { monotonicMs } from '../waiting.js';
import { timeOf, type Tags } from './point.js';
import type { SenderListener } from './sender.js';

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

/** What the owner of a device may want to hear. */
export interface Listeners {
  readonly onRefused?: (refused: Refused) => void;
  readonly onDropped?: (dropped: Dropped) => void;
  readonly onError?: (error: HeadwaterError) => void;
}

/** Counts what becomes of points, and tells the owner of a device what went wrong. Never throws. */
export interface Report extends SenderListener {
  readonly counts: { handedOver: number; stored: number; refused: number; dropped: number };
  lastError: HeadwaterError | undefined;
  dropped(points: number, reason: Dropped['reason']): void;
  readonly failed: (error: unknown) => void;
}

/** The same trouble is told so often at most. */
const tellEveryMs = 60_000;

/** @param unknownKey is called when the server does not know the key. */
export function reportTo({ onRefused, onDropped, onError }: Listeners, unknownKey: () => void): Report {
  /** When each kind of trouble was told last. */
  const toldMs = new Map<string, number>();

  /** What a listener throws is its own affair. */
  function tell<T>(listener: ((what: T) => void) | undefined, what: T): void {
    try {
      listener?.(what);
    } catch (cause) {
      report.lastError = new HeadwaterError('A listener of the device has thrown.', 'internal', { cause });
    }
  }

  const counts = { handedOver: 0, stored: 0, refused: 0, dropped: 0 };
  const report: Report = {
    counts,
    lastError: undefined,
    stored(points) {
      counts.stored += points;
    },
    refused(texts, error) {
      counts.refused += texts.length;
      const times = new Map<string, number>();
      for (const text of texts) times.set(text, (times.get(text) ?? 0) + 1);
      for (const [text, count] of times) tell(onRefused, { ...pointOf(text), count, error });
    },
    dropped(points, reason) {
      counts.dropped += points;
      tell(onDropped, { points, reason });
    },
    failed(cause) {
      const error = known(cause, 'Something went wrong in the library.', 'internal');
      const { code, status } = error;
      if (status === 401) unknownKey();
      report.lastError = error;
      const kind = `${code} ${status}`;
      const nowMs = monotonicMs();
      if (nowMs - (toldMs.get(kind) ?? -Infinity) < tellEveryMs) return;
      toldMs.set(kind, nowMs);
      tell(onError, error);
    },
  };
  return report;
}

/** As the wire has it. */
interface SentPoint {
  readonly class?: 'event';
  readonly metric: string;
  readonly value: unknown;
  readonly timestamp: number;
  readonly tags?: Tags;
}

function pointOf(text: string): Omit<Refused, 'count' | 'error'> {
  const { class: kind = 'metric', metric: name, value, timestamp, tags = {} } = JSON.parse(text) as SentPoint;
  return { kind, name, value, tags, timestampMs: timeOf(timestamp) };
}

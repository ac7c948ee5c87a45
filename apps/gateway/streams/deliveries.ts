import type { Slices } from '#edge';
import { tally } from '#model';
import type { Batch } from './frames.js';
import type { StreamReader } from './stream-reader.js';

/** How long one slice takes, about. */
const sliceMs = 1;
/** What may wait for its readers, of one organization: more than all of its bodies that are taken at one time. */
const maxWaitingBytes = 64 * 1024 * 1024;

/** Hands what has come to readers in slices, between which everything else goes on. */
export class Deliveries {
  readonly #waitingBytes = new Map<string, number>();

  constructor(private readonly slices: Slices) {}

  /** Does work of one organization that is a step for each frame or reader. */
  do(orgId: string, work: Iterable<void>): Promise<void> | void {
    return this.slices.finish(orgId, inSlices(work));
  }

  /** Takes one step, in a later turn of the event loop. */
  later(orgId: string, step: () => void): void {
    this.slices.add(orgId, step);
  }

  /** False when more of the organization waits than may: its readers, or those of others of its streams, are too many for what comes. */
  wait(orgId: string, bytes: number): boolean {
    return tally(this.#waitingBytes, orgId, bytes) <= maxWaitingBytes;
  }
}

/** @param readers those of one filter one after the other: frames are made once for them. */
export function* deliver(batch: Batch, readers: Iterable<StreamReader>): Generator<void> {
  for (const reader of readers) {
    yield* reader.deliver(batch);
    yield;
  }
}

/** Takes steps for about so long at a time. */
function* inSlices(work: Iterable<void>): Generator<void, void> {
  let endMs = performance.now() + sliceMs;
  for (const _ of work) {
    if (performance.now() < endMs) continue;
    yield;
    endMs = performance.now() + sliceMs;
  }
}

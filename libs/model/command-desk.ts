import { tally } from './tally.js';

/** Commands of one device that were handed over and that it has not answered. */
export const maxUndelivered = 64;
/** A device that has not answered a command for so long is taken not to have it, and need not carry it out. */
export const commandTtlMs = 30_000;
/** A command is handed over only when its record is younger: later its sender may have been told that no gateway answers. */
export const maxHandOverMs = 3_000;
/** Longer than the log may take to append a record a second time. */
const rememberedMs = 60_000;
/** Commands of a minute that one gateway decides: about 30 MB. An organization may have half of what the others leave. */
const maxRemembered = 250_000;

/**
 * - `hand_over`: give it to the device now, and call `settled` when that fails;
 * - `repeated`: it was decided before, so do nothing;
 * - `late`, `full`: the device never gets it;
 * - `beyond`: its organization has too many to remember one more, so do nothing, for its record may come again. Its sender hears nothing.
 */
export type Verdict = 'hand_over' | 'repeated' | 'late' | 'full' | 'beyond';

/**
 * Decides for one gateway which commands its devices are given: each at most once, soon or never, and to no device more than 64 that it has not
 * answered. All times but `ageMs` are by one monotonic clock. Commands are named by their key, `org/source/command`.
 */
export class CommandDesk {
  /** Until when a decided command is remembered; the one that is forgotten first stands first. */
  readonly #rememberedUntilMs = new Map<string, number>();
  /** How many of them each organization has. */
  readonly #remembered = new Map<string, number>();
  /** Until when each command is undelivered; the one that ends first stands first. */
  readonly #slotUntilMs = new Map<string, number>();
  /** How many slots each source has. */
  readonly #slots = new Map<string, number>();

  /** @param ageMs how long ago the record of the command was appended, by the clock of the log. */
  decide(key: string, ageMs: number, nowMs: number): Verdict {
    this.#forget(nowMs);
    if (this.#rememberedUntilMs.has(key)) return 'repeated';
    const org = orgOf(key);
    const remembered = this.#remembered.get(org) ?? 0;
    if (remembered >= (maxRemembered - (this.#rememberedUntilMs.size - remembered)) / 2) return 'beyond';
    this.#rememberedUntilMs.set(key, nowMs + rememberedMs);
    tally(this.#remembered, org, 1);
    if (!(ageMs < maxHandOverMs)) return 'late';
    if (this.undelivered(sourceOf(key)) >= maxUndelivered) return 'full';
    this.#hold(key, nowMs);
    return 'hand_over';
  }

  /** Counts a command that another gateway has handed over. */
  handedOver(key: string, nowMs: number): void {
    this.#forget(nowMs);
    // A command handed over here has its slot already, and may be answered before the log shows it: do not give it another.
    if (!this.#slotUntilMs.has(key) && !this.#rememberedUntilMs.has(key)) this.#hold(key, nowMs);
  }

  /** The device has answered the command, or could not be given it. */
  settled(key: string): void {
    if (this.#slotUntilMs.delete(key)) tally(this.#slots, sourceOf(key), -1);
  }

  /** @param source `org/source`. */
  undelivered(source: string): number {
    return this.#slots.get(source) ?? 0;
  }

  #hold(key: string, nowMs: number): void {
    this.#slotUntilMs.set(key, nowMs + commandTtlMs);
    tally(this.#slots, sourceOf(key), 1);
  }

  #forget(nowMs: number): void {
    for (const [key, untilMs] of this.#slotUntilMs) {
      if (untilMs > nowMs) break;
      this.settled(key);
    }
    for (const [key, untilMs] of this.#rememberedUntilMs) {
      if (untilMs > nowMs) break;
      this.#rememberedUntilMs.delete(key);
      tally(this.#remembered, orgOf(key), -1);
    }
  }
}

const orgOf = (key: string): string => key.slice(0, key.indexOf('/'));

const sourceOf = (key: string): string => key.slice(0, key.lastIndexOf('/'));

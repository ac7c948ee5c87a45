/** Commands of one device that were handed over and that it has not answered. */
export const maxUndelivered = 64;
/** A device that has not answered a command for so long is taken not to have it, and need not carry it out. */
export const commandTtlMs = 30_000;
/** A command is handed over only when its record is younger: later its sender may have been told that no gateway answers. */
export const maxHandOverMs = 3_000;
/** Longer than the log may take to append a record a second time. */
const rememberedMs = 60_000;
/** Commands of a minute that one gateway decides: about 30 MB. */
const maxRemembered = 250_000;

/**
 * - `hand_over`: give it to the device now, and call `settled` when that fails;
 * - `repeated`: it was decided before, so do nothing;
 * - `late`, `full`: the device never gets it.
 */
export type Verdict = 'hand_over' | 'repeated' | 'late' | 'full';

/**
 * Decides for one gateway which commands its devices are given: each at most once, soon or never, and to no device more than 64 that it has not
 * answered. All times but `ageMs` are by one monotonic clock. Commands are named by their key, `org/source/command`.
 */
export class CommandDesk {
  /** Until when a decided command is remembered; the one that is forgotten first stands first. */
  readonly #rememberedUntilMs = new Map<string, number>();
  /** Until when each command is undelivered; the one that ends first stands first. */
  readonly #slotUntilMs = new Map<string, number>();
  /** How many slots each source has. */
  readonly #slots = new Map<string, number>();

  /** @param ageMs how long ago the record of the command was appended, by the clock of the log. */
  decide(key: string, ageMs: number, nowMs: number): Verdict {
    this.#forget(nowMs);
    if (this.#rememberedUntilMs.has(key)) return 'repeated';
    if (this.#rememberedUntilMs.size >= maxRemembered) return 'full';
    this.#rememberedUntilMs.set(key, nowMs + rememberedMs);
    if (!(ageMs < maxHandOverMs)) return 'late';
    if (this.undelivered(sourceOf(key)) >= maxUndelivered) return 'full';
    this.#hold(key, nowMs);
    return 'hand_over';
  }

  /** Counts a command that another gateway has handed over. */
  handedOver(key: string, nowMs: number): void {
    this.#forget(nowMs);
    // Its own commands it has counted by itself, and those may have been answered before the log shows them.
    if (!this.#slotUntilMs.has(key) && !this.#rememberedUntilMs.has(key)) this.#hold(key, nowMs);
  }

  /** The device has answered the command, or could not be given it. */
  settled(key: string): void {
    if (!this.#slotUntilMs.delete(key)) return;
    const source = sourceOf(key);
    const left = this.undelivered(source) - 1;
    if (left > 0) this.#slots.set(source, left);
    else this.#slots.delete(source);
  }

  /** @param source `org/source`. */
  undelivered(source: string): number {
    return this.#slots.get(source) ?? 0;
  }

  #hold(key: string, nowMs: number): void {
    this.#slotUntilMs.set(key, nowMs + commandTtlMs);
    const source = sourceOf(key);
    this.#slots.set(source, this.undelivered(source) + 1);
  }

  #forget(nowMs: number): void {
    for (const [key, untilMs] of this.#slotUntilMs) {
      if (untilMs > nowMs) break;
      this.settled(key);
    }
    for (const [key, untilMs] of this.#rememberedUntilMs) {
      if (untilMs > nowMs) break;
      this.#rememberedUntilMs.delete(key);
    }
  }
}

const sourceOf = (key: string): string => key.slice(0, key.lastIndexOf('/'));

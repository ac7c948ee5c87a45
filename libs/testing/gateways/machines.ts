import { AsyncLocalStorage } from 'node:async_hooks';
import type { Random } from '../random.js';

const running = new AsyncLocalStorage<Machine>();
const { setTimeout: realTimeout, setInterval: realInterval, setImmediate: realImmediate } = globalThis;
const { clearTimeout: realClearTimeout, clearInterval: realClearInterval } = globalThis;

/** Work that is due at a time; it is also what the timer functions of a machine give. */
class Due {
  isOver = false;

  constructor(
    readonly atMs: number,
    readonly machine: Machine | undefined,
    readonly work: () => void,
  ) {}

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** A process in simulated time, which may stand still, and die between any two of its steps. */
export class Machine {
  isDead = false;
  #held: Due[] | undefined;

  constructor(private readonly time: SimulatedTime) {}

  get isFrozen(): boolean {
    return this.#held !== undefined;
  }

  /** Nothing happens in it until `thaw`. */
  freeze(): void {
    this.#held ??= [];
  }

  /** All that came meanwhile happens now, in any order. */
  thaw(random: Random): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const due of random.shuffled(held)) this.time.add(new Due(this.time.nowMs, this, () => due.isOver || due.work()));
  }

  /** Runs `work` at once, as part of this machine: what `work` begins ends when the machine does. */
  run<T>(work: () => T): T {
    return running.run(this, work);
  }

  /** Does something in it, now or when it goes on. */
  begin(due: Due): void {
    if (this.isDead) return;
    if (this.#held) this.#held.push(due);
    else this.run(due.work);
  }
}

/** Time that passes only when it is told to, for machines whose timers go by it: one step after the other, so that all is the same each time. */
export class SimulatedTime {
  nowMs = 0;
  /** In the order in which they are due. */
  readonly #due: Due[] = [];

  /** @param machine undefined is the world outside of them. */
  later(ms: number, machine: Machine | undefined, work: () => void): Due {
    return this.add(new Due(this.nowMs + ms, machine, work));
  }

  add(due: Due): Due {
    const at = this.#due.findLastIndex(({ atMs }) => atMs <= due.atMs);
    this.#due.splice(at + 1, 0, due);
    return due;
  }

  /** Resolves when all is done that is due meanwhile. */
  async pass(ms: number): Promise<void> {
    const endMs = this.nowMs + ms;
    for (;;) {
      // All that follows from the last step by promises alone.
      await new Promise((resolve) => realImmediate(resolve));
      const due = this.#due[0];
      if (!due || due.atMs > endMs) break;
      this.#due.shift();
      this.nowMs = due.atMs;
      if (due.isOver) continue;
      if (due.machine) due.machine.begin(due);
      else due.work();
    }
    this.nowMs = endMs;
  }

  /** Has the timers of machines go by this time until the function that is given is called. */
  install(): () => void {
    const begin = (work: (...given: readonly unknown[]) => void, ms: number, given: readonly unknown[]): Due =>
      this.later(Math.max(0, ms), running.getStore(), () => work(...given));
    const every = (work: (...given: readonly unknown[]) => void, ms: number, given: readonly unknown[]): Due => {
      const again = (): void => {
        if (!first.isOver) this.later(ms, first.machine, again);
        if (!first.isOver) work(...given);
      };
      const first = begin(again, ms, []);
      return first;
    };
    const clear =
      (real: (timer: never) => void) =>
      (timer: unknown): void => {
        if (timer instanceof Due) timer.isOver = true;
        else real(timer as never);
      };
    const inMachine =
      (simulated: typeof begin, real: typeof realTimeout | typeof realInterval) =>
      (work: (...given: readonly unknown[]) => void, ms = 0, ...given: readonly unknown[]): unknown =>
        running.getStore() ? simulated(work, ms, given) : real(work, ms, ...given);
    Object.assign(globalThis, {
      setTimeout: inMachine(begin, realTimeout),
      setInterval: inMachine(every, realInterval),
      setImmediate: (work: (...given: readonly unknown[]) => void, ...given: readonly unknown[]) =>
        running.getStore() ? begin(work, 0, given) : realImmediate(() => work(...given)),
      clearTimeout: clear(realClearTimeout),
      clearInterval: clear(realClearInterval),
    });
    return () => {
      Object.assign(globalThis, {
        setTimeout: realTimeout,
        setInterval: realInterval,
        setImmediate: realImmediate,
        clearTimeout: realClearTimeout,
        clearInterval: realClearInterval,
      });
    };
  }
}

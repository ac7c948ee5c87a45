/** Longest time ahead, so there are at most 601 buckets; a later key comes early and is put back. */
const maxAheadMs = 600_000;

const secondOf = (ms: number): number => Math.floor(ms / 1000);

/** What is to be done with keys, and when: each key stands once, in the second of its time. */
export class Agenda {
  readonly #secondOf = new Map<string, number>();
  readonly #keysOf = new Map<number, Set<string>>();
  #takenMs = -Infinity;

  /** Puts a key at a time, Unix milliseconds, in place of the one that it had; `Infinity` takes it off. */
  put(key: string, atMs: number, nowMs: number): void {
    this.#remove(key);
    if (atMs === Infinity) return;
    const second = secondOf(Math.min(Math.max(atMs, nowMs), nowMs + maxAheadMs));
    this.#secondOf.set(key, second);
    const keys = this.#keysOf.get(second);
    if (keys) keys.add(key);
    else this.#keysOf.set(second, new Set([key]));
  }

  has(key: string): boolean {
    return this.#secondOf.has(key);
  }

  /** Takes off the keys whose time has come, or comes within the second; at most so many. When the clock was set back by more than a second, the time of all keys has come. */
  take(nowMs: number, max: number): readonly string[] {
    if (nowMs < this.#takenMs - 1000) this.#bringUp(nowMs);
    this.#takenMs = nowMs;
    const taken: string[] = [];
    for (const [second, keys] of this.#keysOf) {
      if (second > secondOf(nowMs)) continue;
      for (const key of keys) if (taken.push(key) === max) break;
      if (taken.length === max) break;
    }
    for (const key of taken) this.#remove(key);
    return taken;
  }

  clear(): void {
    this.#secondOf.clear();
    this.#keysOf.clear();
  }

  #bringUp(nowMs: number): void {
    const keys = Array.from(this.#secondOf.keys());
    for (const key of keys) this.put(key, nowMs, nowMs);
  }

  #remove(key: string): void {
    const second = this.#secondOf.get(key);
    if (second === undefined) return;
    this.#secondOf.delete(key);
    const keys = this.#keysOf.get(second)!;
    keys.delete(key);
    if (keys.size === 0) this.#keysOf.delete(second);
  }
}

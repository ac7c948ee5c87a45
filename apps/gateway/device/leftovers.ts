import { Inject, Injectable, Optional } from '@nestjs/common';
import { MONOTONIC_CLOCK, Slices, type MonotonicClock } from '#edge';
import { ONLY_PROCESS, pagesOf, RECORD_LOG, tombstone, VIEWS, type RecordLog, type View, type Views } from '#log';
import { gatewayQuietMs, type Gateway, type Presence } from '#model';
import { gateways, presence } from '#topics';
import { PresenceLog } from './presence-log.js';

/** What a gateway left behind that was not heard for so long is taken out of the log. */
const abandonedMs = 3_600_000;
const lookMs = 600_000;

/**
 * Connections in the log whose gateway died without a word. Nobody takes them for open, so they only take up room. A gateway that reads no
 * heartbeat of its own, because it stands still or the log is away, hears nobody: the silence of others counts only from when it hears itself.
 */
@Injectable()
export class Leftovers {
  readonly #connections: View<Presence>;
  readonly #gateways: View<Gateway>;
  /** When each gateway was last heard. */
  readonly #heardMs = new Map<string, number>();
  /** From when on this gateway has heard whoever lives. */
  #sinceMs = 0;
  #ownId = '';
  #timer: NodeJS.Timeout | undefined;

  /** @param isOnly nothing else writes to the log: whatever other gateways left behind is over. */
  constructor(
    @Inject(VIEWS) views: Views,
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    private readonly presenceLog: PresenceLog,
    private readonly slices: Slices,
    @Optional() @Inject(ONLY_PROCESS) private readonly isOnly: true | undefined,
    @Optional() @Inject(MONOTONIC_CLOCK) private readonly monotonicMs: MonotonicClock = () => performance.now(),
  ) {
    this.#connections = views.open(presence);
    this.#gateways = views.open(gateways);
  }

  /** @param ownId this run of a gateway. */
  begin(ownId: string): void {
    this.#ownId = ownId;
    this.#gateways.changes(({ key, value }) => {
      const nowMs = this.monotonicMs();
      if (key === ownId && !this.#hears(nowMs)) this.#sinceMs = nowMs;
      if (value) this.#heardMs.set(key, nowMs);
      else this.#heardMs.delete(key);
    });
    const clear = (): void => void this.clear().catch(() => undefined);
    this.#timer = setInterval(clear, lookMs).unref();
    if (this.isOnly) clear();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Rejects `log_unavailable`: the next time takes out the rest. */
  async clear(): Promise<void> {
    await Promise.all([this.#connections.caughtUp(), this.#gateways.caughtUp()]);
    if (!this.isOnly && !this.#hears(this.monotonicMs())) return;
    const keys = await this.slices.finish('', this.#abandoned());
    this.presenceLog.removeKeys(keys);
    await this.presenceLog.written();
    const gone = Array.from(this.#gateways.scan(''), ([gatewayId]) => gatewayId).filter((gatewayId) => this.#isOver(gatewayId));
    if (gone.length > 0) await this.log.append(gone.map((gatewayId) => tombstone(gateways, gatewayId)));
  }

  *#abandoned(): Generator<void, string[]> {
    const keys: string[] = [];
    for (const page of pagesOf(this.#connections, '')) {
      for (const [key, { gatewayId }] of page) if (this.#isOver(gatewayId)) keys.push(key);
      yield;
    }
    return keys;
  }

  #isOver(gatewayId: string): boolean {
    if (gatewayId === this.#ownId) return false;
    const heardMs = Math.max(this.#heardMs.get(gatewayId) ?? -Infinity, this.#sinceMs);
    return this.isOnly === true || this.monotonicMs() - heardMs >= abandonedMs;
  }

  #hears(nowMs: number): boolean {
    return nowMs - (this.#heardMs.get(this.#ownId) ?? -Infinity) < gatewayQuietMs;
  }
}

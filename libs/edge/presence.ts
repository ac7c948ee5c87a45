import { Inject, Injectable, Optional } from '@nestjs/common';
import { ONLY_PROCESS, pagesOf, VIEWS, type View, type Views } from '#log';
import { gatewayQuietMs, mayUse, newestConnection, type Caller, type Gateway, type Presence } from '#model';
import { gateways, presence, sourceKey } from '#topics';
import { CLOCK, MONOTONIC_CLOCK, type Clock, type MonotonicClock } from './clock.js';

/** Which sources are connected now, as the log tells. */
@Injectable()
export class Connections {
  /** Resolves when all connections that there were at the start are known. */
  readonly ready: Promise<void>;
  readonly #connections: View<Presence>;
  readonly #gateways: View<Gateway>;
  /** When each gateway's last heartbeat arrived here: the clocks of other machines do not matter. */
  readonly #heardMs = new Map<string, number>();
  readonly #startMs: number;

  constructor(
    @Inject(VIEWS) views: Views,
    @Inject(CLOCK) private readonly clock: Clock,
    @Optional() @Inject(MONOTONIC_CLOCK) private readonly monotonicMs: MonotonicClock = () => performance.now(),
    @Optional() @Inject(ONLY_PROCESS) private readonly isOnly?: true,
  ) {
    this.#startMs = clock();
    this.#connections = views.open(presence);
    this.#gateways = views.open(gateways);
    this.ready = Promise.all([this.#connections.ready, this.#gateways.ready]).then(() => this.#listen());
    // Whoever waits for it hears of a failure.
    this.ready.catch(() => undefined);
  }

  /** The connection that commands go to; undefined when the source is offline. */
  newest(orgId: string, sourceId: string): Presence | undefined {
    const connections = Iterator.from(this.#connections.scan(`${sourceKey({ orgId, sourceId })}/`)).map(([, connection]) => connection);
    return newestConnection(connections, (gatewayId) => this.#quietMs(gatewayId));
  }

  /** Ids of all sources of the caller that are online, found in steps. */
  *online(caller: Caller): Generator<void, ReadonlySet<string>> {
    const ids = new Set<string>();
    for (const page of pagesOf(this.#connections, `${caller.orgId}/`)) {
      for (const [, { sourceId, gatewayId }] of page)
        if (this.#quietMs(gatewayId) < gatewayQuietMs && mayUse(caller, sourceId)) ids.add(sourceId);
      yield;
    }
    return ids;
  }

  #quietMs(gatewayId: string): number {
    return this.monotonicMs() - (this.#heardMs.get(gatewayId) ?? -Infinity);
  }

  /**
   * When a heartbeat arrived that is in the log by now is not known, so for those the gateway's own clock must do. Where no other process
   * writes to the log, those from before the start are of a gateway that is gone.
   */
  #listen(): void {
    const nowMs = this.clock();
    for (const [gatewayId, { beatMs }] of this.#gateways.scan('')) {
      if (Math.abs(nowMs - beatMs) < (this.isOnly ? nowMs - this.#startMs + 1 : gatewayQuietMs))
        this.#heardMs.set(gatewayId, this.monotonicMs());
    }
    this.#gateways.changes(({ key, value }) => {
      if (value) this.#heardMs.set(key, this.monotonicMs());
      else this.#heardMs.delete(key);
    });
  }
}

import { Injectable } from '@nestjs/common';
import { Metrics } from '#edge';
import { gauge } from '#model';

/** A connection from which nothing is read for a while. */
export interface Paused {
  /** Reads on, where nothing is against it any more; true when it does. */
  readOn(): boolean;
}

const lookMs = 50;
/** Each that reads on may bring 64 KiB before it is known whether there is room for the next. */
const maxAtOnce = 128;

/** Connections that are not read because their devices send faster than the log, their rates, or the memory of this process allow. */
@Injectable()
export class Pauses {
  readonly #paused = new Set<Paused>();
  #timer: NodeJS.Timeout | undefined;

  constructor(metrics: Metrics) {
    metrics.add(
      gauge(
        'headwater_device_connections_paused',
        'Connections of devices that are not read now, because more came than could be taken.',
        () => this.#paused.size,
      ),
    );
  }

  add(one: Paused): void {
    this.#paused.add(one);
    this.#timer ??= setInterval(() => this.#look(), lookMs).unref();
  }

  delete(one: Paused): void {
    this.#paused.delete(one);
    if (this.#paused.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** In the order in which they were paused. */
  #look(): void {
    let left = maxAtOnce;
    for (const one of this.#paused) if (one.readOn() && --left === 0) return;
  }
}

import { Injectable } from '@nestjs/common';
import { Metrics } from '#edge';
import { TelemetryError } from '#model';
import { GatewayLife } from './gateway-life.js';
import type { DeviceTalk } from './device-talk.js';

/** The connections of devices that this gateway holds, once they are online. */
@Injectable()
export class DeviceConnections {
  readonly #talks = new Map<string, DeviceTalk>();

  constructor(life: GatewayLife, metrics: Metrics) {
    life.over(() => {
      const over = new TelemetryError('log_unavailable', 'Connect again: this server lost touch with the log.');
      for (const talk of this.#talks.values()) talk.fail(over);
    });
    metrics.add({
      name: 'headwater_device_connections_open',
      kind: 'gauge',
      unit: '',
      help: 'Connections of devices that this process holds.',
      read: () => this.#talks.size,
    });
  }

  get(connectionId: string): DeviceTalk | undefined {
    return this.#talks.get(connectionId);
  }

  add(talk: DeviceTalk): void {
    this.#talks.set(talk.connectionId, talk);
  }

  delete(talk: DeviceTalk): void {
    this.#talks.delete(talk.connectionId);
  }
}

import { Injectable } from '@nestjs/common';
import { Metrics } from '#edge';
import { gauge, TelemetryError } from '#model';
import { GatewayLife } from './gateway-life.js';

/** A command as it is handed over to a device. */
export interface HandedOver {
  readonly id: string;
  readonly command: string;
  readonly params: unknown;
  readonly ttlMs: number;
}

/** An open connection of a device. */
export interface DeviceConnection {
  readonly orgId: string;
  readonly sourceId: string;
  readonly connectionId: string;
  readonly connectedMs: number;
  /** False when the frame was not handed to the connection, which may be closing. */
  handOver(command: HandedOver): boolean;
  /** Ends the connection: nothing that is not durable is acknowledged, so the device sends it again. */
  fail(error: unknown): void;
}

/** The connections of devices that this gateway holds, once they are online. */
@Injectable()
export class DeviceConnections {
  readonly #open = new Map<string, DeviceConnection>();

  constructor(life: GatewayLife, metrics: Metrics) {
    life.over(() => {
      const over = new TelemetryError('log_unavailable', 'Connect again: this server lost touch with the log.');
      for (const connection of this.#open.values()) connection.fail(over);
    });
    metrics.add(gauge('headwater_device_connections_open', 'Connections of devices that this process holds.', () => this.#open.size));
  }

  get(connectionId: string): DeviceConnection | undefined {
    return this.#open.get(connectionId);
  }

  add(connection: DeviceConnection): void {
    this.#open.set(connection.connectionId, connection);
  }

  delete(connection: DeviceConnection): void {
    this.#open.delete(connection.connectionId);
  }
}

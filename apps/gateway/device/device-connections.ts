import { Injectable } from '@nestjs/common';
import { Metrics } from '#edge';
import { gauge, tally, TelemetryError } from '#model';
import { sourceKey } from '#topics';
import { GatewayLife } from './gateway-life.js';

/** A command as it is handed over to a device. */
export interface HandedOver {
  readonly id: string;
  readonly command: string;
  readonly params: unknown;
  readonly ttlMs: number;
}

type SourceOf = Pick<DeviceConnection, 'orgId' | 'sourceId'>;

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

/** Connections of one source: each is looked at whenever somebody asks whether the source is online, or sends it a command. */
const maxOfSource = 16;

/** The connections of devices that this gateway holds. */
@Injectable()
export class DeviceConnections {
  /** By id of the connection, from when it is announced until it is closed. */
  readonly #open = new Map<string, DeviceConnection>();
  readonly #ofSource = new Map<string, number>();

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

  /** @throws TelemetryError `over_rate` when the source has so many connections that it gets no other one. */
  checkRoom(source: SourceOf): void {
    if ((this.#ofSource.get(sourceKey(source)) ?? 0) >= maxOfSource)
      throw new TelemetryError('over_rate', `Connect again in a moment: ${source.sourceId} has ${maxOfSource} connections here.`);
  }

  /** Counts a connection that was let in, until `delete`. */
  begin(connection: DeviceConnection): void {
    tally(this.#ofSource, sourceKey(connection), 1);
  }

  /** The connection is online. */
  add(connection: DeviceConnection): void {
    this.#open.set(connection.connectionId, connection);
  }

  delete(connection: DeviceConnection): void {
    this.#open.delete(connection.connectionId);
    tally(this.#ofSource, sourceKey(connection), -1);
  }
}

import { Injectable } from '@nestjs/common';
import { Accept, Admission, InFlight, LiveSockets, Organizations, Rates, Slices } from '#edge';
import { CommandReports } from '../commands/command-reports.js';
import { DeviceConnections } from './device-connections.js';
import { GatewayLife } from './gateway-life.js';
import { Pauses } from './pauses.js';
import { PresenceLog } from './presence-log.js';

/** What every connection of a device shares. */
@Injectable()
export class DeviceServices {
  constructor(
    readonly sockets: LiveSockets,
    readonly admission: Admission,
    readonly organizations: Organizations,
    readonly accept: Accept,
    readonly rates: Rates,
    readonly inFlight: InFlight,
    readonly slices: Slices,
    readonly life: GatewayLife,
    readonly presenceLog: PresenceLog,
    readonly connections: DeviceConnections,
    readonly pauses: Pauses,
    readonly reports: CommandReports,
  ) {}
}

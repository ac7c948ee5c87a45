import { Module } from '@nestjs/common';
import { Connections, VisitorsModule } from '#edge';
import { CommandDelivery } from './commands/command-delivery.js';
import { CommandReports } from './commands/command-reports.js';
import { CommandSender } from './commands/command-sender.js';
import { CommandStates } from './commands/command-states.js';
import { CommandsController } from './commands/commands.controller.js';
import { DeviceConnections } from './device/device-connections.js';
import { DeviceGateway } from './device/device.gateway.js';
import { DeviceServices } from './device/device-services.js';
import { GatewayLife } from './device/gateway-life.js';
import { Leftovers } from './device/leftovers.js';
import { Pauses } from './device/pauses.js';
import { PresenceLog } from './device/presence-log.js';
import { LogStreamGateway, MetricStreamGateway } from './streams/stream-gateways.js';
import { StreamsController } from './streams/streams.controller.js';
import { STREAM_LIMITS, streamLimits, Streams } from './streams/streams.js';

const device = [DeviceConnections, DeviceGateway, DeviceServices, GatewayLife, Leftovers, Pauses, PresenceLog];
const commands = [CommandDelivery, CommandReports, CommandSender, CommandStates, Connections];
const streams = [{ provide: STREAM_LIMITS, useValue: streamLimits }, Streams, MetricStreamGateway, LogStreamGateway];

/** Connections. */
@Module({
  imports: [VisitorsModule],
  controllers: [CommandsController, StreamsController],
  providers: [...device, ...commands, ...streams],
})
export class GatewayModule {}

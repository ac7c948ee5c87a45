import { Module } from '@nestjs/common';
import { Connections } from '#edge';
import { DevicesAlias } from './devices-alias.js';
import { FleetController } from './fleet.controller.js';
import { Fleet } from './fleet.js';
import { LogsController } from './logs.controller.js';
import { MetricsController } from './metrics.controller.js';
import { Questions } from './questions.js';
import { SourcesController } from './sources.controller.js';

/** Projections out, over HTTP. */
@Module({
  controllers: [SourcesController, MetricsController, LogsController, FleetController],
  providers: [Connections, Fleet, DevicesAlias, Questions],
})
export class QueryModule {}

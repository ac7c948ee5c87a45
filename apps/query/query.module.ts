import { Module } from '@nestjs/common';
import { ReadsModule } from '#edge';
import { DeletionsController } from './deletions.controller.js';
import { DevicesAlias } from './devices-alias.js';
import { FleetController } from './fleet.controller.js';
import { LogsController } from './logs.controller.js';
import { MetricsController } from './metrics.controller.js';
import { SourcesController } from './sources.controller.js';

/** Projections out, over HTTP, and deletions in. */
@Module({
  imports: [ReadsModule],
  controllers: [SourcesController, MetricsController, LogsController, FleetController, DeletionsController],
  providers: [DevicesAlias],
})
export class QueryModule {}

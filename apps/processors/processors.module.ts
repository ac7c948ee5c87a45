import { Module } from '@nestjs/common';
import { CLOCK, Connections, deciders } from '#edge';
import { RECORD_LOG, VIEWS } from '#log';
import { AlertTracker } from './alert-tracker.js';
import { DeliveryDesk } from './delivery-desk.js';
import { KnownSources } from './known-sources.js';
import { MonitorDefinitions } from './monitor-definitions.js';
import { MonitorWatch } from './monitor-watch.js';
import { NoticeMaker } from './notice-maker.js';
import { DECIDERS, Processors } from './processors.js';
import { SourceTracker } from './source-tracker.js';

/** Topics in, projections and decisions out. */
@Module({
  providers: [
    Processors,
    SourceTracker,
    AlertTracker,
    { provide: DECIDERS, useFactory: deciders, inject: [RECORD_LOG, VIEWS, CLOCK] },
    MonitorWatch,
    MonitorDefinitions,
    KnownSources,
    Connections,
    NoticeMaker,
    DeliveryDesk,
  ],
  exports: [Processors],
})
export class ProcessorsModule {}

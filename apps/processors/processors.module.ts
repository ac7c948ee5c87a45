import { Module } from '@nestjs/common';
import { EventProjector } from './event-projector.js';
import { Processors } from './processors.js';
import { SeriesProjector } from './series-projector.js';
import { SourceTracker } from './source-tracker.js';

/** Topics in, projections out. */
@Module({ providers: [Processors, SeriesProjector, EventProjector, SourceTracker], exports: [Processors] })
export class ProcessorsModule {}

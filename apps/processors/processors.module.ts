import { Module } from '@nestjs/common';
import { Processors } from './processors.js';
import { SourceTracker } from './source-tracker.js';

/** Topics in, projections out. */
@Module({ providers: [Processors, SourceTracker], exports: [Processors] })
export class ProcessorsModule {}

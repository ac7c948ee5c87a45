import { Module } from '@nestjs/common';
import { KeyDecider } from '#edge';
import { Processors } from './processors.js';
import { SourceTracker } from './source-tracker.js';

/** Topics in, projections and decisions out. */
@Module({ providers: [Processors, SourceTracker, KeyDecider], exports: [Processors] })
export class ProcessorsModule {}

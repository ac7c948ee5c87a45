import { Module } from '@nestjs/common';
import { Commands, KeyCommands, ReadsModule } from '#edge';
import { AlertBook } from './alerts/alert-book.js';
import { AlertTalk } from './alerts/alert-talk.js';
import { Backtests } from './monitors/backtests.js';
import { MonitorBook } from './monitors/monitor-book.js';
import { TargetBook } from './targets/target-book.js';

const services = [Commands, KeyCommands, Backtests, MonitorBook, AlertBook, AlertTalk, TargetBook];

/** What the API and the pages of the app host share. */
@Module({ imports: [ReadsModule], providers: services, exports: [ReadsModule, ...services] })
export class ServicesModule {}

import { Module } from '@nestjs/common';
import { Commands, KeyCommands, ReadsModule } from '#edge';
import { AlertBook } from './alerts/alert-book.js';
import { AlertTalk } from './alerts/alert-talk.js';
import { Backtests } from './monitors/backtests.js';

const services = [Commands, KeyCommands, Backtests, AlertBook, AlertTalk];

/** What the API and the pages of the app host share. */
@Module({ imports: [ReadsModule], providers: services, exports: [ReadsModule, ...services] })
export class ServicesModule {}

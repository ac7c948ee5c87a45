import { Controller, Get, Inject } from '@nestjs/common';
import type { z } from 'zod';
import { CallerParam, CLOCK, type Clock } from '#edge';
import { parseWindow, type Caller, type LogEntry } from '#model';
import { GENERATIONS, type Generations } from '#stores';
import { logsQuery, QueryParameters, SourceId } from './parameters.js';
import { timely } from './timely.js';

const defaultLimit = 1000;

@Controller('v1/sources/:source_id/logs')
export class LogsController {
  constructor(
    @Inject(GENERATIONS) private readonly generations: Generations,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  async logs(
    @CallerParam() { orgId }: Caller,
    @SourceId() sourceId: string,
    @QueryParameters(logsQuery) { tail, name, limit = defaultLimit, ...times }: z.output<typeof logsQuery>,
  ): Promise<unknown> {
    const { events } = this.generations.live();
    const entries =
      tail === undefined
        ? events.window(orgId, sourceId, parseWindow(times, this.clock()), limit, name)
        : events.tail(orgId, sourceId, tail, name);
    return (await timely(entries)).map(logEntry);
  }
}

const logEntry = ({ timestampMs, metric, value, tags }: LogEntry): unknown => ({ timestamp_ms: timestampMs, metric, value, tags });

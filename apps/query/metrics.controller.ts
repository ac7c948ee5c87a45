import { Controller, Get, Header, Inject } from '@nestjs/common';
import type { z } from 'zod';
import { CallerParam, CLOCK, type Clock } from '#edge';
import { automaticInterval, maxRows, parseWindow, type Caller } from '#model';
import { GENERATIONS, type BucketAnswer, type Generations, type RawAnswer } from '#stores';
import { QueryParameters, seriesQuery, SourceId } from './parameters.js';
import { seriesJson } from './series-json.js';
import { timely } from './timely.js';

const latestBackMs = 3_600_000;
const latestAheadMs = 600_000;

@Controller('v1/sources/:source_id/metrics')
export class MetricsController {
  constructor(
    @Inject(GENERATIONS) private readonly generations: Generations,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  names(@CallerParam() { orgId }: Caller, @SourceId() sourceId: string): Promise<readonly string[]> {
    return timely(this.generations.live().series.metricNames(orgId, sourceId));
  }

  @Get('latest')
  async latest(@CallerParam() { orgId }: Caller, @SourceId() sourceId: string): Promise<unknown> {
    const nowMs = this.clock();
    const window = { startMs: nowMs - latestBackMs, endMs: nowMs + latestAheadMs + 1 };
    return { metrics: Object.fromEntries(await timely(this.generations.live().series.latest(orgId, sourceId, window))) };
  }

  @Get('query')
  @Header('content-type', 'application/json; charset=utf-8')
  async query(
    @CallerParam() { orgId }: Caller,
    @SourceId() sourceId: string,
    @QueryParameters(seriesQuery) parameters: z.output<typeof seriesQuery>,
  ): Promise<Buffer> {
    const window = parseWindow(parameters, this.clock());
    const interval = parameters.interval ?? automaticInterval(window);
    const query = { orgId, sourceId, metrics: parameters.metrics, window, limit: maxRows };
    const { series } = this.generations.live();
    const answer = await timely<RawAnswer | BucketAnswer>(interval === 'raw' ? series.raw(query) : series.buckets({ ...query, interval }));
    return seriesJson({ interval, autoDownsampled: !parameters.interval && interval !== 'raw', answer });
  }
}

import { Controller, Get, Header, Inject, type StreamableFile } from '@nestjs/common';
import type { z } from 'zod';
import { Answers, CLOCK, HeldParam, QueryParameters, Questions, rowsIn, seriesOfSource, SourceId, type Clock, type Held } from '#edge';
import { automaticInterval, compareUtf8, maxRows, parseWindow } from '#model';
import type { BucketAnswer, RawAnswer } from '#stores';
import { namesQuery, seriesQuery } from './parameters.js';
import { arrayJson, latestJson, seriesJson } from './series-json.js';

const latestBackMs = 3_600_000;
const latestAheadMs = 600_000;

@Controller('v1/sources/:source_id/metrics')
export class MetricsController {
  constructor(
    private readonly questions: Questions,
    private readonly answers: Answers,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @Header('content-type', 'application/json; charset=utf-8')
  async names(
    @HeldParam() held: Held,
    @SourceId() sourceId: string,
    @QueryParameters(namesQuery) { after = '', limit = Infinity }: z.output<typeof namesQuery>,
  ): Promise<Buffer | StreamableFile> {
    const all = await this.questions.ask(held.orgId, seriesOfSource, ({ series }) => series.metricNames(held.orgId, sourceId));
    const first = after === '' ? 0 : all.findIndex((name) => compareUtf8(name, after) > 0);
    const names = first < 0 ? [] : all.slice(first, first + limit);
    return this.answers.of(
      held,
      arrayJson(names, (name, json) => json.string(name)),
    );
  }

  @Get('latest')
  @Header('content-type', 'application/json; charset=utf-8')
  async latest(@HeldParam() held: Held, @SourceId() sourceId: string): Promise<Buffer | StreamableFile> {
    const nowMs = this.clock();
    const window = { startMs: nowMs - latestBackMs, endMs: nowMs + latestAheadMs + 1 };
    const values = await this.questions.ask(held.orgId, seriesOfSource, ({ series }) => series.latest(held.orgId, sourceId, window));
    return this.answers.of(held, latestJson(values));
  }

  @Get('query')
  @Header('content-type', 'application/json; charset=utf-8')
  async query(
    @HeldParam() held: Held,
    @SourceId() sourceId: string,
    @QueryParameters(seriesQuery) parameters: z.output<typeof seriesQuery>,
  ): Promise<Buffer | StreamableFile> {
    const { orgId } = held;
    const { metrics, tags: withTags = false } = parameters;
    const window = parseWindow(parameters, this.clock());
    const interval = parameters.interval ?? automaticInterval(window);
    const query = { orgId, sourceId, metrics, window, limit: maxRows };
    const rows = rowsIn(window, interval) * (metrics?.length ?? seriesOfSource);
    const answer = await this.questions.ask<RawAnswer | BucketAnswer>(orgId, rows, ({ series }) =>
      interval === 'raw' ? series.raw({ ...query, ...(withTags && { withTags }) }) : series.buckets({ ...query, interval }),
    );
    return this.answers.of(
      held,
      seriesJson({ interval, autoDownsampled: !parameters.interval && interval !== 'raw', answer }),
      bytesOf(answer),
    );
  }
}

/** Memory of an answer, about. */
function bytesOf({ series, ...rest }: RawAnswer | BucketAnswer): number {
  const columns = series[0] && 'value' in series[0] ? 2 : 5;
  let bytes = 0;
  for (const { timestampMs } of series) bytes += columns * timestampMs.byteLength;
  if ('tags' in rest) for (const rows of rest.tags ?? []) for (const tags of rows) bytes += tags.length;
  return bytes;
}

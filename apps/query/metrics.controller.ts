import { Controller, Get, Header, Inject, type OnModuleInit, type StreamableFile } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import {
  Answers,
  CLOCK,
  HeldParam,
  QueryParameters,
  Questions,
  readQuery,
  rowsIn,
  seriesOfSource,
  SourceId,
  type Clock,
  type Held,
} from '#edge';
import { automaticInterval, checkSourceId, compareUtf8, maxRows, parseWindow, visibleSource } from '#model';
import type { BucketAnswer, RawAnswer } from '#stores';
import { namesQuery, seriesQuery } from './parameters.js';
import { arrayJson, latestJson, seriesJson } from './series-json.js';

const latestBackMs = 3_600_000;
const latestAheadMs = 600_000;

const path = 'v1/sources/:source_id/metrics';

@Controller(path)
export class MetricsController implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly questions: Questions,
    private readonly answers: Answers,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Most reads are of a chart that asks for its newest points again and again. */
  onModuleInit(): void {
    this.host.httpAdapter.getInstance<FastifyInstance>().directRequests.add({
      method: 'GET',
      pattern: `/${path}/query`,
      access: {},
      answer: ({ caller, held, url, parameter }) =>
        this.query(held, visibleSource(caller, checkSourceId(parameter)), readQuery(seriesQuery, url)),
    });
  }

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

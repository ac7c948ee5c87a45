import { Controller, Get, Header, Inject, type StreamableFile } from '@nestjs/common';
import type { z } from 'zod';
import { Answers, CallerParam, CLOCK, HeldParam, QueryParameters, Slices, type Clock, type Held } from '#edge';
import { automaticInterval, maxRows, parseWindow, type Caller } from '#model';
import { Fleet } from './fleet.js';
import { fleetQuery } from './parameters.js';
import { Questions, rowsIn, sourcesOfFleet } from './questions.js';
import { fleetJson } from './series-json.js';

/** Memory of a source in the answer of a store, about. */
const sourceBytes = 100;

@Controller('v1/fleet')
export class FleetController {
  constructor(
    private readonly fleet: Fleet,
    private readonly questions: Questions,
    private readonly slices: Slices,
    private readonly answers: Answers,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get('health')
  async health(@CallerParam() { orgId }: Caller): Promise<unknown> {
    const online = await this.slices.finish(orgId, this.fleet.online(orgId));
    const all = await this.slices.finish(orgId, this.fleet.count(orgId, online));
    return { sources_total: all, sources_online: online.size };
  }

  @Get('metrics')
  @Header('content-type', 'application/json; charset=utf-8')
  async metrics(
    @HeldParam() held: Held,
    @QueryParameters(fleetQuery) { metric, ...times }: z.output<typeof fleetQuery>,
  ): Promise<Buffer | StreamableFile> {
    const { orgId } = held;
    const window = parseWindow(times, this.clock());
    const interval = automaticInterval(window, '1m');
    const query = { orgId, metric, window, interval, limit: maxRows };
    const answer = await this.questions.ask(orgId, rowsIn(window, interval) * sourcesOfFleet, ({ series }) => series.fleet(query));
    const online = await this.slices.finish(orgId, this.fleet.online(orgId));
    const bytes = answer.sources.length * sourceBytes + 5 * answer.columns.count.byteLength;
    return this.answers.of(held, fleetJson({ metric, interval, online, answer }), bytes);
  }
}

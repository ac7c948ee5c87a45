import { Controller, Get, Header, Inject, type StreamableFile } from '@nestjs/common';
import type { z } from 'zod';
import {
  Answers,
  CallerParam,
  CLOCK,
  Fleet,
  HeldParam,
  QueryParameters,
  Questions,
  rowsIn,
  Slices,
  sourcesOfFleet,
  type Clock,
  type Held,
} from '#edge';
import { automaticInterval, maxRows, parseWindow, type Caller } from '#model';
import { fleetQuery } from './parameters.js';
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
  async health(@CallerParam() caller: Caller): Promise<unknown> {
    const online = await this.slices.finish(caller.orgId, this.fleet.online(caller));
    const all = await this.slices.finish(caller.orgId, this.fleet.count(caller, online));
    return { sources_total: all, sources_online: online.size };
  }

  @Get('metrics')
  @Header('content-type', 'application/json; charset=utf-8')
  async metrics(
    @HeldParam() held: Held,
    @CallerParam() caller: Caller,
    @QueryParameters(fleetQuery) { metric, interval: asked, ...times }: z.output<typeof fleetQuery>,
  ): Promise<Buffer | StreamableFile> {
    const { orgId, bound: sources } = caller;
    const window = parseWindow(times, this.clock());
    const interval = asked ?? automaticInterval(window, '1m');
    const query = { orgId, metric, sources, window, interval, limit: maxRows };
    const answer = await this.questions.ask(orgId, rowsIn(window, interval) * sourcesOfFleet, ({ series }) => series.fleet(query));
    const online = await this.slices.finish(orgId, this.fleet.online(caller));
    const bytes = answer.sources.length * sourceBytes + 5 * answer.columns.count.byteLength;
    return this.answers.of(held, fleetJson({ metric, interval, online, answer }), bytes);
  }
}

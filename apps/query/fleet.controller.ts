import { Controller, Get, Header, Inject } from '@nestjs/common';
import type { z } from 'zod';
import { CallerParam, CLOCK, type Clock } from '#edge';
import { automaticInterval, maxRows, parseWindow, type Caller } from '#model';
import { GENERATIONS, type Generations } from '#stores';
import { Fleet } from './fleet.js';
import { fleetQuery, QueryParameters } from './parameters.js';
import { fleetJson } from './series-json.js';
import { timely } from './timely.js';

@Controller('v1/fleet')
export class FleetController {
  constructor(
    private readonly fleet: Fleet,
    @Inject(GENERATIONS) private readonly generations: Generations,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get('health')
  health(@CallerParam() { orgId }: Caller): unknown {
    const members = this.fleet.members(orgId);
    return { sources_total: members.length, sources_online: members.filter(({ online }) => online).length };
  }

  @Get('metrics')
  @Header('content-type', 'application/json; charset=utf-8')
  async metrics(
    @CallerParam() { orgId }: Caller,
    @QueryParameters(fleetQuery) { metric, ...times }: z.output<typeof fleetQuery>,
  ): Promise<Buffer> {
    const window = parseWindow(times, this.clock());
    const interval = automaticInterval(window, '1m');
    const { series } = this.generations.live();
    const answer = await timely(series.fleet({ orgId, metric, window, interval, limit: maxRows }));
    return fleetJson({ metric, interval, online: this.fleet.online(orgId), answer });
  }
}

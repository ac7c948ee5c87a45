import { Controller, Delete, Get, HttpCode, Inject, Param, Patch, Post } from '@nestjs/common';
import type { z } from 'zod';
import { Access, CallerParam, CLOCK, Fleet, JsonBody, QueryParameters, type Clock } from '#edge';
import { parseWindow, type Caller } from '#model';
import { Backtests } from './backtests.js';
import { backtestBody, monitorPatch, newMonitor, toListed, type monitorJson } from './definition.js';
import { MonitorBook, refusal } from './monitor-book.js';
import { monitorsQuery, type backtestJson, type definedMonitor, type monitorList } from './monitors.api.js';
import { checkWatchable } from './watchable.js';

/** Monitors of the caller's organization. */
@Controller('api/monitors')
@Access({ may: 'monitors' })
export class MonitorsController {
  constructor(
    private readonly book: MonitorBook,
    private readonly fleet: Fleet,
    private readonly backtests: Backtests,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Post()
  async define(
    @CallerParam() caller: Caller,
    @JsonBody(newMonitor) definition: z.output<typeof newMonitor>,
  ): Promise<z.output<typeof definedMonitor>> {
    return { success: true, ...toListed(await this.book.define(caller, definition)) };
  }

  @Post('backtest')
  @HttpCode(200)
  @Access({ may: 'read' })
  async backtest(
    @CallerParam() caller: Caller,
    @JsonBody(backtestBody) { definition, window: times }: z.output<typeof backtestBody>,
  ): Promise<z.output<typeof backtestJson>> {
    const window = parseWindow(times, this.clock());
    checkWatchable(this.fleet, caller, definition.sourceId);
    const { alerts, points, untilMs } = await this.backtests.run(caller.orgId, definition, window);
    const transitions = alerts.map(({ triggeredMs, resolvedMs, value }) => ({
      event: resolvedMs === null ? ('alert.triggered' as const) : ('alert.resolved' as const),
      timestamp_ms: resolvedMs ?? triggeredMs,
      value: value!,
    }));
    return { transitions, points, evaluated_until_ms: untilMs, truncated: untilMs < window.endMs };
  }

  @Get()
  @Access({ may: 'read' })
  list(
    @CallerParam() caller: Caller,
    @QueryParameters(monitorsQuery) { source_id: sourceId, after = '', limit = 1000 }: z.output<typeof monitorsQuery>,
  ): z.output<typeof monitorList> {
    const listed: z.output<typeof monitorJson>[] = [];
    for (const monitor of this.book.scan(caller, after)) {
      if (sourceId !== undefined && monitor.sourceId !== sourceId) continue;
      if (listed.length === limit) return { monitors: listed, truncated: true };
      listed.push(toListed(monitor));
    }
    return { monitors: listed, truncated: false };
  }

  @Get(':id')
  @Access({ may: 'read' })
  one(@CallerParam() caller: Caller, @Param('id') id: string): z.output<typeof monitorJson> {
    const found = this.book.find(caller, id);
    if (!found) throw refusal('unknown_monitor');
    return toListed(found);
  }

  @Patch(':id')
  async change(
    @CallerParam() caller: Caller,
    @Param('id') id: string,
    @JsonBody(monitorPatch) patch: z.output<typeof monitorPatch>,
  ): Promise<z.output<typeof monitorJson>> {
    return toListed(await this.book.change(caller, id, patch));
  }

  @Delete(':id')
  @HttpCode(204)
  async delete(@CallerParam() caller: Caller, @Param('id') id: string): Promise<void> {
    await this.book.delete(caller, id);
  }
}

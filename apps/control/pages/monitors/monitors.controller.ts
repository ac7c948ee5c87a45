import { Get, Inject, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { checkJson, CLOCK, QueryParameters, Slices, type Clock } from '#edge';
import { checkSourceId, everySource, TelemetryError, type Caller, type Monitor, type MonitorDefinition } from '#model';
import { newMonitor } from '../../monitors/definition.js';
import { MonitorBook, placeOf } from '../../monitors/monitor-book.js';
import { FormParam, type Form } from '../form.js';
import type { Html } from '../html.js';
import { Pages } from '../pages.js';
import { refused } from '../refused.js';
import { Redirect, type Shown } from '../shown.js';
import { ForVisitor, VisitParam, type Visit } from '../visit.js';
import { bodyOf, formOf, formQuery, formWith, type MonitorForm, type TrialSize } from './monitor-form.js';
import { monitorPage } from './monitor-page.js';
import { monitorsPage } from './monitors-page.js';
import { Trials } from './trials.js';

/** Monitors on one page. */
const pageMonitors = 50;

const listQuery = z.object({ source_id: z.string().transform(checkSourceId).optional(), after: z.string().max(1024).optional() });

/** What is watched. */
@Pages('monitors')
export class MonitorsPages {
  constructor(
    private readonly book: MonitorBook,
    private readonly trials: Trials,
    private readonly slices: Slices,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @ForVisitor('read')
  async list(
    @VisitParam() visit: Visit,
    @QueryParameters(listQuery) { source_id: sourceId, after }: z.output<typeof listQuery>,
  ): Promise<Html> {
    const { caller } = visit;
    const found = await this.slices.finish(caller.orgId, this.book.list(caller, { sourceId, after, limit: pageMonitors }));
    const monitors = found.slice(0, pageMonitors);
    const next = found.length > pageMonitors ? placeOf(monitors.at(-1)!) : undefined;
    return monitorsPage(visit, { monitors, sourceId, after, next }, this.clock());
  }

  @Post()
  @ForVisitor('monitors')
  async define(@VisitParam() visit: Visit, @FormParam() sent: Form, @Req() request: FastifyRequest): Promise<Redirect | Shown> {
    const form = formOf(sent);
    try {
      await this.book.define(visit.caller, checkJson(newMonitor, bodyOf(form)));
      return new Redirect('/monitors');
    } catch (error) {
      return refused(request, error, (problem) => monitorPage(visit, { form, problem }));
    }
  }

  @Get('new')
  @ForVisitor('monitors')
  fresh(
    @VisitParam() visit: Visit,
    @QueryParameters(formQuery) { try: size, ...fields }: z.output<typeof formQuery>,
    @Req() request: FastifyRequest,
  ): Promise<Html | Shown> {
    return this.#page(visit, undefined, fields, size, request);
  }

  @Get(':id')
  @ForVisitor('monitors')
  one(
    @VisitParam() visit: Visit,
    @Param('id') id: string,
    @QueryParameters(formQuery) { try: size, ...fields }: z.output<typeof formQuery>,
    @Req() request: FastifyRequest,
  ): Promise<Html | Shown> {
    const monitor = this.#find(visit.caller, id);
    return this.#page(visit, monitor, size ? withPlaceOf(monitor, fields) : formWith(monitor), size, request);
  }

  @Post(':id')
  @ForVisitor('monitors')
  async change(
    @VisitParam() visit: Visit,
    @Param('id') id: string,
    @FormParam() sent: Form,
    @Req() request: FastifyRequest,
  ): Promise<Redirect | Shown> {
    const monitor = this.#find(visit.caller, id);
    const form = formOf(sent);
    try {
      const { name, threshold, offline } = bodyOf(form);
      await this.book.change(visit.caller, id, { name, threshold, offline }, Number(form.defined));
      return new Redirect('/monitors');
    } catch (error) {
      // Whoever has read that it was changed may save it all the same.
      const isChanged = error instanceof TelemetryError && error.code === 'monitor_changed';
      const again = isChanged ? { ...form, defined: String(monitor.definedMs) } : form;
      return refused(request, error, (problem) => monitorPage(visit, { monitor, form: again, problem }));
    }
  }

  /** One that is gone already is gone. */
  @Post(':id/delete')
  @ForVisitor('monitors')
  async delete(@VisitParam() { caller }: Visit, @Param('id') id: string): Promise<Redirect> {
    if (this.book.find(caller, id)) await this.book.delete(caller, id);
    return new Redirect('/monitors');
  }

  /** @param size of the window that the form is to be tried on. */
  async #page(
    visit: Visit,
    monitor: Monitor | undefined,
    form: MonitorForm,
    size: TrialSize | undefined,
    request: FastifyRequest,
  ): Promise<Html | Shown> {
    if (!size) return monitorPage(visit, { monitor, form });
    try {
      const trial = await this.trials.run(visit.caller, triedOn(form), size);
      return monitorPage(visit, { monitor, form, trial });
    } catch (error) {
      return refused(request, error, (problem) => monitorPage(visit, { monitor, form, problem }));
    }
  }

  #find(caller: Caller, id: string): Monitor {
    const found = this.book.find(caller, id);
    if (!found) throw new TelemetryError('unknown_monitor', 'Look at the list of monitors: your organization has none with this address.');
    return found;
  }
}

/** The definition that was filled in, about the source that it is to be tried on. */
function triedOn(form: MonitorForm): MonitorDefinition {
  const definition = checkJson(newMonitor, bodyOf(form));
  return definition.sourceId === everySource ? { ...definition, sourceId: form.try_on.trim() || everySource } : definition;
}

/** The source and the metric of a monitor stay as they are. */
const withPlaceOf = ({ sourceId, metric }: Monitor, fields: MonitorForm): MonitorForm => ({
  ...fields,
  source_id: sourceId,
  metric: metric ?? '',
});

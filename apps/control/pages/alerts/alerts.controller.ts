import { Get, Inject, Param, Post } from '@nestjs/common';
import { z } from 'zod';
import { CLOCK, QueryParameters, Slices, type Clock } from '#edge';
import { AlertBook, cursorOf } from '../../alerts/alert-book.js';
import { AlertTalk } from '../../alerts/alert-talk.js';
import { FormParam, type Form } from '../form.js';
import type { Html } from '../html.js';
import { Pages } from '../pages.js';
import { Redirect } from '../shown.js';
import { ForVisitor, VisitParam, type Visit } from '../visit.js';
import { alertsPage, silences } from './alerts-page.js';

/** Alerts on one page. */
const pageAlerts = 50;

const alertsQuery = z.object({
  status: z.enum(['open', 'resolved']).default('open'),
  after: z.string().max(100).optional(),
});

/** What monitors have found, and what people say of it. */
@Pages('alerts')
export class AlertsPages {
  constructor(
    private readonly book: AlertBook,
    private readonly talk: AlertTalk,
    private readonly slices: Slices,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @ForVisitor('read')
  async list(@VisitParam() visit: Visit, @QueryParameters(alertsQuery) { status, after }: z.output<typeof alertsQuery>): Promise<Html> {
    const { caller } = visit;
    const found = await this.slices.finish(caller.orgId, this.book.list(caller, { status, after, limit: pageAlerts }));
    const shown = found.slice(0, pageAlerts).map((alert) => this.book.noted(caller.orgId, alert));
    const next = found.length > pageAlerts ? cursorOf(shown.at(-1)!.alert) : undefined;
    return alertsPage(visit, { status, after, next, alerts: shown }, this.clock());
  }

  @Post(':id/acknowledge')
  @ForVisitor('monitors')
  async acknowledge(@VisitParam() { caller }: Visit, @Param('id') id: string): Promise<Redirect> {
    await this.talk.say(caller, id, 'acknowledge', null);
    return new Redirect('/alerts');
  }

  @Post(':id/silence')
  @ForVisitor('monitors')
  async silence(@VisitParam() { caller }: Visit, @Param('id') id: string, @FormParam() form: Form): Promise<Redirect> {
    const { ms = 0 } = silences.find(({ name }) => name === form.get('for')) ?? {};
    await this.talk.say(caller, id, 'silence', this.clock() + ms);
    return new Redirect('/alerts');
  }
}

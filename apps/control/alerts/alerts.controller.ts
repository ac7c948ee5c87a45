import { Controller, Get, HttpCode, Inject, Param, Post } from '@nestjs/common';
import type { z } from 'zod';
import { Access, CallerParam, CLOCK, JsonBody, QueryParameters, Slices, type Clock } from '#edge';
import {
  alertJson as alertText,
  isSilenced,
  maxSilenceMs,
  TelemetryError,
  type AlertCommand,
  type AlertNote,
  type Alert,
  type Caller,
} from '#model';
import { AlertBook, cursorOf } from './alert-book.js';
import { AlertTalk } from './alert-talk.js';
import { alertJson, alertsQuery, silence, type alertList } from './alerts.api.js';

type AlertJson = z.output<typeof alertJson>;

/** Alerts of the caller's sources, and what people say of them. */
@Controller('api/alerts')
@Access({ may: 'monitors' })
export class AlertsController {
  constructor(
    private readonly book: AlertBook,
    private readonly talk: AlertTalk,
    private readonly slices: Slices,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @Access({ may: 'read' })
  async list(
    @CallerParam() caller: Caller,
    @QueryParameters(alertsQuery) { source_id: sourceId, since: sinceMs, limit = 1000, ...rest }: z.output<typeof alertsQuery>,
  ): Promise<z.output<typeof alertList>> {
    const { orgId } = caller;
    const found = await this.slices.finish(orgId, this.book.list(caller, { ...rest, sourceId, sinceMs, limit }));
    const page = found.slice(0, limit);
    const next = found.length > limit ? cursorOf(page.at(-1)!) : null;
    return { alerts: page.map((alert) => this.#toJson(orgId, alert)), next };
  }

  @Post(':id/acknowledge')
  @HttpCode(200)
  acknowledge(@CallerParam() caller: Caller, @Param('id') id: string): Promise<AlertJson> {
    return this.#say(caller, id, 'acknowledge', null);
  }

  @Post(':id/silence')
  @HttpCode(200)
  async silence(
    @CallerParam() caller: Caller,
    @Param('id') id: string,
    @JsonBody(silence) { until_ms: untilMs }: z.output<typeof silence>,
  ): Promise<AlertJson> {
    if (untilMs <= this.clock() + maxSilenceMs) return this.#say(caller, id, 'silence', untilMs);
    const flaw = { pointer: '/until_ms', code: 'invalid_body', detail: 'Use a time that is at most 30 days ahead.' };
    throw new TelemetryError('invalid_body', `Mend ${flaw.pointer}: ${flaw.detail}`, { flaws: [flaw] });
  }

  async #say(caller: Caller, alertId: string, does: AlertCommand['does'], untilMs: number | null): Promise<AlertJson> {
    const { alert } = await this.talk.say(caller, alertId, does, untilMs);
    return this.#toJson(caller.orgId, alert);
  }

  #toJson(orgId: string, alert: Alert): AlertJson {
    const { note } = this.book.noted(orgId, alert);
    const status = alert.resolvedMs === null ? 'open' : 'resolved';
    return { ...(alertText(alert) as AlertJson), status, acknowledged: acknowledgedOf(alert, note), ...silenceOf(note, this.clock()) };
  }
}

const acknowledgedOf = ({ alertId }: Alert, note: AlertNote | undefined): AlertJson['acknowledged'] =>
  note?.acknowledgedId === alertId ? { at_ms: note.acknowledgedMs, by: note.acknowledgedBy } : null;

const silenceOf = (note: AlertNote | undefined, nowMs: number): Pick<AlertJson, 'silenced_until_ms'> => ({
  silenced_until_ms: isSilenced(note, nowMs) ? note!.silencedUntilMs : null,
});

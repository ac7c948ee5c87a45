import { randomBytes } from 'node:crypto';
import { Controller, Delete, Get, HttpCode, Inject, Param, Patch, Post } from '@nestjs/common';
import type { z } from 'zod';
import {
  CallerParam,
  checkJson,
  CLOCK,
  Commands,
  Fleet,
  type Clock,
  JsonBody,
  Keyring,
  May,
  monitorsArea,
  QueryParameters,
  Readiness,
  type Asking,
} from '#edge';
import { VIEWS, type View, type Views } from '#log';
import {
  everySource,
  mayUse,
  mergePatch,
  parseWindow,
  TelemetryError,
  type Caller,
  type Monitor,
  type MonitorCommand,
  type MonitorOutcome,
} from '#model';
import { monitorKey, monitors } from '#topics';
import { Backtests } from './backtests.js';
import { backtestBody, monitorPatch, newMonitor, toBody, toListed, type monitorJson } from './definition.js';
import { monitorsQuery, type backtestJson, type definedMonitor, type monitorList } from './monitors.api.js';
import { checkWatchable } from './watchable.js';

/** How often a change is made again from what others have made of the monitor meanwhile. */
const maxTries = 5;

/** Monitors of the caller's organization. A key that is bound to sources sees and defines those of its sources, as if there were no others. */
@Controller('api/monitors')
@May('monitors')
export class MonitorsController {
  readonly #view: View<Monitor>;

  constructor(
    @Inject(VIEWS) views: Views,
    private readonly commands: Commands,
    private readonly keyring: Keyring,
    private readonly fleet: Fleet,
    private readonly backtests: Backtests,
    @Inject(CLOCK) private readonly clock: Clock,
    readiness: Readiness,
  ) {
    this.#view = views.open(monitors);
    readiness.need(this.#view.ready);
  }

  @Post()
  async define(
    @CallerParam() caller: Caller,
    @JsonBody(newMonitor) definition: z.output<typeof newMonitor>,
  ): Promise<z.output<typeof definedMonitor>> {
    checkWatchable(this.fleet, caller, definition.sourceId);
    const monitorId = `mon_${randomBytes(12).toString('hex')}`;
    const about = await this.#carryOut(caller, { does: 'define', monitorId, definition, basedOnMs: null });
    return { success: true, ...toListed(this.#find(caller, about)) };
  }

  @Post('backtest')
  @HttpCode(200)
  @May('read')
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
  @May('read')
  list(
    @CallerParam() caller: Caller,
    @QueryParameters(monitorsQuery) { source_id: sourceId, after = '', limit = 1000 }: z.output<typeof monitorsQuery>,
  ): z.output<typeof monitorList> {
    const { orgId } = caller;
    const listed: z.output<typeof monitorJson>[] = [];
    for (const [, monitor] of this.#view.scan(`${orgId}/`, { after: monitorKey({ orgId, monitorId: after }), limit: Infinity })) {
      if (!sees(caller, monitor) || (sourceId !== undefined && monitor.sourceId !== sourceId)) continue;
      if (listed.length === limit) return { monitors: listed, truncated: true };
      listed.push(toListed(monitor));
    }
    return { monitors: listed, truncated: false };
  }

  @Get(':id')
  @May('read')
  one(@CallerParam() caller: Caller, @Param('id') id: string): z.output<typeof monitorJson> {
    return toListed(this.#find(caller, id));
  }

  @Patch(':id')
  async change(
    @CallerParam() caller: Caller,
    @Param('id') id: string,
    @JsonBody(monitorPatch) patch: z.output<typeof monitorPatch>,
  ): Promise<z.output<typeof monitorJson>> {
    for (let tries = 0; tries < maxTries; tries++) {
      const before = this.#find(caller, id);
      const definition = checkJson(newMonitor, mergePatch(toBody(before), patch));
      for (const [name, isOther] of [
        ['source_id', definition.sourceId !== before.sourceId],
        ['metric', definition.metric !== before.metric],
      ] as const)
        if (isOther) throw fixed(name);
      const command = { does: 'change', monitorId: id, definition, basedOnMs: before.definedMs } as const;
      if (await this.#carryOut(caller, command, 'outdated')) return toListed(this.#find(caller, id));
    }
    throw new TelemetryError('log_unavailable', 'Others change this monitor all the time: send the change again.');
  }

  @Delete(':id')
  @HttpCode(204)
  async delete(@CallerParam() caller: Caller, @Param('id') id: string): Promise<void> {
    this.#find(caller, id);
    await this.#carryOut(caller, { does: 'delete', monitorId: id, definition: null, basedOnMs: null });
  }

  #find(caller: Caller, monitorId: string): Monitor {
    const found = this.#view.get(monitorKey({ orgId: caller.orgId, monitorId }));
    if (!found || !sees(caller, found)) throw refusal('unknown_monitor');
    return found;
  }

  /** The id of the monitor; undefined for the refusal that the caller allows. @throws TelemetryError for every other one. */
  async #carryOut(caller: Caller, what: Asked, allowed: MonitorOutcome): Promise<string | undefined>;
  async #carryOut(caller: Caller, what: Asked): Promise<string>;
  async #carryOut(caller: Caller, what: Asked, allowed?: MonitorOutcome): Promise<string | undefined> {
    const asking = { orgId: caller.orgId, by: this.keyring.actor(caller), ...what } as Asking<MonitorCommand>;
    const { word, about } = await this.commands.carryOut(monitorsArea, asking);
    if (word === 'defined' || word === 'deleted') return about;
    if (word === allowed) return undefined;
    throw refusal(word);
  }
}

type Asked = Omit<Asking<MonitorCommand>, 'orgId' | 'by'>;

const sees = (caller: Caller, { sourceId }: Monitor): boolean =>
  sourceId === everySource ? caller.bound === undefined : mayUse(caller, sourceId);

const fixed = (name: string): TelemetryError => {
  const detail = 'Define another monitor instead: this one keeps its source and its metric.';
  return new TelemetryError('invalid_body', `Mend /${name}: ${detail}`, { flaws: [{ pointer: `/${name}`, code: 'invalid_body', detail }] });
};

function refusal(word: Exclude<MonitorOutcome, 'defined' | 'deleted'>): TelemetryError {
  if (word === 'too_many') return new TelemetryError('too_many_monitors', 'Delete monitors first: an organization has at most 10,000.');
  if (word === 'too_many_of_source')
    return new TelemetryError('too_many_monitors', 'Delete monitors first: a source has at most 100, and so has "*".');
  return new TelemetryError('unknown_monitor', 'List the monitors with GET /api/monitors: your organization has none with this id.');
}

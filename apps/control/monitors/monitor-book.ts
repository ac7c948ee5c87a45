import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { checkJson, Commands, Fleet, Keyring, monitorsArea, Readiness, type Asking } from '#edge';
import { pagesOf, VIEWS, type View, type Views } from '#log';
import {
  everySource,
  mayUse,
  mergePatch,
  TelemetryError,
  type Caller,
  type Monitor,
  type MonitorCommand,
  type MonitorDefinition,
  type MonitorOutcome,
  type Steps,
} from '#model';
import { monitorKey, monitors } from '#topics';
import { firstOf } from '../first-of.js';
import { newMonitor, toBody } from './definition.js';
import { checkWatchable } from './watchable.js';

/** How often a change is made again from what others have made of the monitor meanwhile. */
const maxTries = 5;

/** Which monitors are asked for. */
export interface MonitorQuery {
  /** Only those that watch this source, those of every source among them. */
  readonly sourceId?: string | undefined;
  /** Only those behind this place, as `placeOf` names it. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** The monitors of organizations. A key that is bound to sources sees and defines those of its sources, as if there were no others. */
@Injectable()
export class MonitorBook {
  readonly #view: View<Monitor>;

  constructor(
    @Inject(VIEWS) views: Views,
    private readonly commands: Commands,
    private readonly keyring: Keyring,
    private readonly fleet: Fleet,
    readiness: Readiness,
  ) {
    this.#view = views.open(monitors);
    readiness.need(this.#view.ready);
  }

  /** One that the caller may see; undefined where there is none. */
  find(caller: Caller, monitorId: string): Monitor | undefined {
    const found = this.#view.get(monitorKey({ orgId: caller.orgId, monitorId }));
    return found && sees(caller, found) ? found : undefined;
  }

  /** Those that the caller may see, by id. @param after only those behind this id. */
  *scan(caller: Caller, after: string): Generator<Monitor> {
    const { orgId } = caller;
    for (const [, monitor] of this.#view.scan(`${orgId}/`, { after: monitorKey({ orgId, monitorId: after }), limit: Infinity }))
      if (sees(caller, monitor)) yield monitor;
  }

  /** By source and metric, found in steps; one more than the limit when there are more. */
  list(caller: Caller, { sourceId, after = '', limit }: MonitorQuery): Steps<readonly Monitor[]> {
    const isWanted = (monitor: Monitor): boolean =>
      (sourceId === undefined || [sourceId, everySource].includes(monitor.sourceId)) && sees(caller, monitor) && placeOf(monitor) > after;
    const pages = pagesOf(this.#view, `${caller.orgId}/`).map((page) => page.map(([, monitor]) => monitor).filter(isWanted));
    return firstOf(pages, placeOf, limit);
  }

  /**
   * The monitor of the same source and metric gets this definition, or there is a new one. Rejects as `checkWatchable` does, and
   * `too_many_monitors`.
   */
  async define(caller: Caller, definition: MonitorDefinition): Promise<Monitor> {
    checkWatchable(this.fleet, caller, definition.sourceId);
    const monitorId = `mon_${randomBytes(12).toString('hex')}`;
    return this.#known(caller, await this.#carryOut(caller, { does: 'define', monitorId, definition, basedOnMs: null }));
  }

  /**
   * Merges fields into the body of a monitor, as RFC 7396 says. Rejects `unknown_monitor`, and `invalid_body` also for another source or metric.
   *
   * @param seenMs `definedMs` of the definition that the fields were made from. Rejects `monitor_changed` where it is another one by now; without
   * it the fields are merged into whatever it is.
   */
  async change(caller: Caller, monitorId: string, patch: unknown, seenMs?: number): Promise<Monitor> {
    for (let tries = 0; tries < maxTries; tries++) {
      const before = this.#known(caller, monitorId);
      if (seenMs !== undefined && before.definedMs !== seenMs)
        throw new TelemetryError(
          'monitor_changed',
          'Somebody has changed this monitor since you opened it. Save once more to have yours instead.',
        );
      const definition = checkJson(newMonitor, mergePatch(toBody(before), patch));
      for (const [name, isOther] of [
        ['source_id', definition.sourceId !== before.sourceId],
        ['metric', definition.metric !== before.metric],
      ] as const)
        if (isOther) throw fixed(name);
      const command = { does: 'change', monitorId, definition, basedOnMs: before.definedMs } as const;
      if (await this.#carryOut(caller, command, 'outdated')) return this.#known(caller, monitorId);
    }
    throw new TelemetryError('log_unavailable', 'Others change this monitor all the time: send the change again.');
  }

  /** Rejects `unknown_monitor`. */
  async delete(caller: Caller, monitorId: string): Promise<void> {
    this.#known(caller, monitorId);
    await this.#carryOut(caller, { does: 'delete', monitorId, definition: null, basedOnMs: null });
  }

  #known(caller: Caller, monitorId: string): Monitor {
    const found = this.find(caller, monitorId);
    if (!found) throw refusal('unknown_monitor');
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

/** Where a monitor stands in a list by source and metric; texts are in the order of the list. */
export const placeOf = ({ sourceId, metric, monitorId }: Monitor): string => `${sourceId}/${metric ?? ''}/${monitorId}`;

const sees = (caller: Caller, { sourceId }: Monitor): boolean =>
  sourceId === everySource ? caller.bound === undefined : mayUse(caller, sourceId);

const fixed = (name: string): TelemetryError => {
  const detail = 'Define another monitor instead: this one keeps its source and its metric.';
  return new TelemetryError('invalid_body', `Mend /${name}: ${detail}`, { flaws: [{ pointer: `/${name}`, code: 'invalid_body', detail }] });
};

/** Why a monitor is not defined, changed or found. */
export function refusal(word: Exclude<MonitorOutcome, 'defined' | 'deleted'>): TelemetryError {
  if (word === 'too_many') return new TelemetryError('too_many_monitors', 'Delete monitors first: an organization has at most 10,000.');
  if (word === 'too_many_of_source')
    return new TelemetryError('too_many_monitors', 'Delete monitors first: a source has at most 100, and so has "*".');
  if (word === 'too_many_offline')
    return new TelemetryError('too_many_monitors', 'Leave out offline: at most 10 monitors of a source have it, and as many of "*".');
  return new TelemetryError('unknown_monitor', 'List the monitors with GET /api/monitors: your organization has none with this id.');
}

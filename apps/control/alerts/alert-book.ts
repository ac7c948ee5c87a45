import { Inject, Injectable } from '@nestjs/common';
import { Readiness } from '#edge';
import { pagesOf, VIEWS, type View, type Views } from '#log';
import {
  changedMs,
  conditionOf,
  mayUse,
  rangesOf,
  subjectKey,
  type Alert,
  type AlertNote,
  type Caller,
  type SourceAlerts,
  type Steps,
} from '#model';
import { alertNotes, sourceAlerts, sourceKey } from '#topics';
import { firstOf } from '../first-of.js';

/** Which alerts are asked for. */
export interface AlertQuery {
  readonly status?: 'open' | 'resolved' | undefined;
  readonly sourceId?: string | undefined;
  /** Only those whose last transition is not older, Unix milliseconds. */
  readonly sinceMs?: number | undefined;
  /** Only those behind this one, as `cursorOf` names it. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** An alert, and what people have said of it. */
export interface NotedAlert {
  readonly alert: Alert;
  readonly note: AlertNote | undefined;
}

/** The alerts of organizations: all that are open, and of each source the newest that are not. */
@Injectable()
export class AlertBook {
  readonly #alerts: View<SourceAlerts>;
  readonly #notes: View<AlertNote>;
  /** Keys of sources by organization and alert. */
  readonly #sourceOf = new Map<string, string>();
  readonly #known = new Map<string, SourceAlerts>();

  constructor(@Inject(VIEWS) views: Views, readiness: Readiness) {
    this.#alerts = views.open(sourceAlerts);
    this.#notes = views.open(alertNotes);
    readiness.need(Promise.all([this.#alerts.ready.then(() => this.#listen()), this.#notes.ready]));
  }

  /** One that the caller may see; undefined where there is none. */
  find(caller: Caller, alertId: string): NotedAlert | undefined {
    const source = this.#sourceOf.get(`${caller.orgId}/${alertId}`);
    const known = source === undefined ? undefined : this.#alerts.get(source);
    const alert = known?.alerts.find((one) => one.alertId === alertId);
    return alert && mayUse(caller, alert.sourceId) ? this.noted(caller.orgId, alert) : undefined;
  }

  noted(orgId: string, alert: Alert): NotedAlert {
    const { sourceId, monitorId } = alert;
    return { alert, note: this.#notes.get(subjectKey({ orgId, sourceId, monitorId, condition: conditionOf(alert) })) };
  }

  /** Newest transition first, found in steps; one more than the limit when there are more. */
  list(caller: Caller, { status, sinceMs = -Infinity, after = '', sourceId, limit }: AlertQuery): Steps<readonly Alert[]> {
    const isWanted = (alert: Alert): boolean =>
      (status === undefined || (status === 'open') === (alert.resolvedMs === null)) &&
      changedMs(alert) >= sinceMs &&
      cursorOf(alert) > after;
    const pages = this.#pages(caller, sourceId).map((page) => page.flatMap(({ alerts }) => alerts.filter(isWanted)));
    return firstOf(pages, cursorOf, limit);
  }

  *#pages(caller: Caller, sourceId: string | undefined): Generator<readonly SourceAlerts[]> {
    const { orgId } = caller;
    const ranges = sourceId === undefined ? rangesOf(caller) : mayUse(caller, sourceId) ? [{ text: sourceId, isPrefix: false }] : [];
    for (const { text, isPrefix } of ranges) {
      const key = sourceKey({ orgId, sourceId: text });
      const one = isPrefix ? undefined : this.#alerts.get(key);
      if (one) yield [one];
      if (isPrefix) for (const page of pagesOf(this.#alerts, key)) yield page.map(([, its]) => its);
    }
  }

  #listen(): void {
    for (const [key, its] of this.#alerts.scan('')) this.#put(key, its);
    this.#alerts.changes(({ key, value }) => this.#put(key, value));
  }

  #put(key: string, its: SourceAlerts | null): void {
    const before = this.#known.get(key);
    for (const { alertId } of before?.alerts ?? []) this.#sourceOf.delete(`${before!.orgId}/${alertId}`);
    if (!its) return void this.#known.delete(key);
    this.#known.set(key, its);
    for (const { alertId } of its.alerts) this.#sourceOf.set(`${its.orgId}/${alertId}`, key);
  }
}

const maxMs = 8_640_000_000_000_000;

/** Where an alert stands in the list; texts are in the order of the list. */
export const cursorOf = (alert: Alert): string => `${String(maxMs - changedMs(alert)).padStart(16, '0')}-${alert.alertId}`;

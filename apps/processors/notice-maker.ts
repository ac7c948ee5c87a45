import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '#edge';
import {
  entry,
  on,
  RECORD_LOG,
  Table,
  VIEWS,
  type Entry,
  type Processor,
  type RecordLog,
  type StreamRecord,
  type View,
  type Views,
} from '#log';
import {
  conditionOf,
  digestOf,
  isSilenced,
  isTold,
  severityOf,
  subjectKey,
  type Alert,
  type AlertNote,
  type AlertBatch,
  type AlertTarget,
  type Lease,
  type NoticedSource,
} from '#model';
import { alertNotes, alerts, alertTargets, noticedSources, notices, noticesGroup, sourceKey } from '#topics';

/** Notices that are appended together. */
const maxTogether = 2_000;

/**
 * Says of each transition which targets are to be told. It waits for no target: what is told to which, and when, others decide for each target
 * by itself. A record that a crash brings again makes the same notices again, and a target knows them by the place of the record.
 */
@Injectable()
export class NoticeMaker implements Processor {
  readonly group = noticesGroup;
  readonly table: Table<NoticedSource>;
  readonly inputs = [on(alerts, (records, lease) => this.#take(records, lease))];
  readonly #targets: View<AlertTarget>;
  readonly #notes: View<AlertNote>;

  constructor(
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(VIEWS) views: Views,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.table = new Table(log, noticedSources);
    this.#targets = views.open(alertTargets);
    this.#notes = views.open(alertNotes);
  }

  async #take(records: readonly StreamRecord<AlertBatch>[], lease: Lease): Promise<void> {
    // A target that was made before the alert is told of it, and nobody is where it was silenced before.
    await Promise.all([this.#targets.caughtUp(), this.#notes.caughtUp()]);
    const told = new Map<string, NoticedSource>();
    const entries = records.flatMap((record) => this.#noticesOf(record, told));
    for (let at = 0; at < entries.length; at += maxTogether) {
      if (!lease.held()) return;
      await this.log.append(entries.slice(at, at + maxTogether));
    }
    if (lease.held()) for (const [key, noticed] of told) this.table.set(key, noticed);
  }

  #noticesOf({ value, partition, offset }: StreamRecord<AlertBatch>, told: Map<string, NoticedSource>): readonly Entry[] {
    if (!value) return [];
    const { orgId, sourceId } = value;
    const targets = Array.from(this.#targets.scan(`${orgId}/`), ([, target]) => target).filter(({ paused }) => paused === null);
    if (targets.length === 0) return [];
    const key = sourceKey(value);
    const digest = digestOf(value);
    if ((told.get(key) ?? this.table.get(key))?.digest === digest) return [];
    told.set(key, { orgId, sourceId, digest });
    const nowMs = this.clock();
    const heard = value.alerts.filter((alert) => !isSilenced(this.#noteOf(orgId, alert), nowMs));
    return targets.flatMap((target) => {
      const its = heard.filter((alert) => isTold(severityOf(alert), target));
      const notice = { orgId, targetId: target.targetId, place: { partition, offset }, testId: null, alerts: its };
      return its.length > 0 ? [entry(notices, notice)] : [];
    });
  }

  #noteOf(orgId: string, alert: Alert): AlertNote | undefined {
    const { sourceId, monitorId } = alert;
    return this.#notes.get(subjectKey({ orgId, sourceId, monitorId, condition: conditionOf(alert) }));
  }
}

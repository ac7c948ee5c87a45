import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import { CLOCK, type Clock, Outbound } from '#edge';
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
  afterAnswer,
  afterBeginning,
  afterNotice,
  afterPause,
  afterSettingBack,
  afterTest,
  causes,
  during,
  messageOf,
  noDeliveries,
  pauseReasonOf,
  shownTo,
  toldTogether,
  waitingIn,
  workMs,
  type Answer,
  type AlertTarget,
  type Lease,
  type Metric,
  type Notice,
  type PauseReason,
  type TargetCommand,
  type TargetDeliveries,
} from '#model';
import { alertTargets, deliveries, deliveriesGroup, notices, targetCommands, targetKey } from '#topics';
import { Agenda } from './agenda.js';
import { AttemptCounts, deliveryMetrics, type TargetFigures } from './delivery-metrics.js';

/** Targets that a process tells at a time; others wait. */
const maxBusy = 256;
/** Of these, targets whose last attempt has failed: they take long to fail, and leave room to those that answer. */
const maxFailing = 128;
/** Tests that a process makes at a time. */
const maxTests = 64;
/** What is answered to a test when `maxTests` are under way. */
const tooManyTests: Answer = {
  verdict: 'later',
  status: null,
  error: 'it was not sent: too many targets are tested now',
  retryAfterMs: 0,
  tookMs: 0,
};
/** Targets that a tick begins with. */
const maxBegun = 1_000;

const logger = new Logger('deliveries');

/**
 * Sends alerts to targets. The record of a target in the table holds what waits for it and the delivery that is under way, and is written
 * before that delivery is sent: after a crash the same delivery is sent again, under the same id. No target waits for another one.
 */
@Injectable()
export class DeliveryDesk implements Processor, BeforeApplicationShutdown {
  readonly group = deliveriesGroup;
  readonly table: Table<TargetDeliveries>;
  readonly inputs = [on(notices, (records, lease) => this.#take(records, lease))];
  readonly #targets: View<AlertTarget>;
  /** When which target has work, by its key. */
  readonly #agenda = new Agenda();
  /** The lease under which all targets are on the agenda. */
  #lease: Lease | undefined;
  /** Targets that have changed since the last tick. */
  #changed = new Set<string>();
  /** What is under way, by the key of the target. */
  readonly #busy = new Map<string, Promise<void>>();
  /** Those of them whose last attempt had failed when it began. */
  readonly #failing = new Set<string>();
  readonly #testing = new Map<string, Promise<void>>();
  #isStopping = false;
  readonly #attempts = new AttemptCounts();

  constructor(
    @Inject(RECORD_LOG) log: RecordLog,
    @Inject(VIEWS) views: Views,
    private readonly outbound: Outbound,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.table = new Table(log, deliveries);
    this.#targets = views.open(alertTargets);
    this.#targets.ready.then(
      () => this.#targets.changes(({ key }) => this.#changed.add(key)),
      () => undefined,
    );
  }

  metrics(): readonly Metric[] {
    return deliveryMetrics(this.#attempts, () => this.#figures(), this.clock);
  }

  async tick(nowMs: number, lease: Lease): Promise<void> {
    await this.#targets.ready;
    if (!lease.held()) return;
    if (lease !== this.#lease) {
      // A view that is behind lacks targets, whose deliveries would be dropped.
      await this.#targets.caughtUp();
      if (!lease.held()) return;
      this.#lease = lease;
      this.#agenda.clear();
      for (const [key] of this.table.entries()) this.#agenda.put(key, nowMs, nowMs);
    }
    for (const key of this.#changed) if (this.table.owns(key) && this.table.get(key)) this.#agenda.put(key, nowMs, nowMs);
    this.#changed = new Set();
    for (const key of this.#agenda.take(nowMs, maxBegun)) this.#begin(key, lease);
  }

  /** What is under way is ended in order: its outcome would be unknown otherwise, and the target be told twice. */
  async beforeApplicationShutdown(): Promise<void> {
    this.#isStopping = true;
    await Promise.all([...this.#busy.values(), ...this.#testing.values()]);
  }

  async #take(records: readonly StreamRecord<Notice>[], lease: Lease): Promise<void> {
    await this.#targets.caughtUp();
    if (!lease.held()) return;
    const told = new Set<string>();
    for (const { key, value } of records) {
      const target = this.#targets.get(key);
      if (!value || !target) continue;
      if (value.testId !== null) this.#test(key, target, value, lease);
      else if (value.place && target.paused === null) {
        this.table.set(key, afterNotice(this.#stateOf(value), value.place, value.alerts));
        told.add(key);
      }
    }
    for (const key of told) this.#begin(key, lease);
  }

  /** Does what there is to do for a target, beside everything else. */
  #begin(key: string, lease: Lease): void {
    if (this.#isStopping) return;
    // Perhaps with work of an earlier lease, which will not go on.
    if (this.#busy.has(key) || !this.#hasRoom(key)) return this.#agenda.put(key, this.clock(), this.clock());
    if (this.#isFailing(key)) this.#failing.add(key);
    const work = this.#work(key, lease)
      .catch((error: unknown) => {
        logger.warn(`what was delivered to a target is not written: ${causes(error)}`);
        this.#agenda.put(key, this.clock() + 1000, this.clock());
      })
      .finally(() => {
        this.#busy.delete(key);
        this.#failing.delete(key);
      });
    this.#busy.set(key, work);
  }

  #hasRoom(key: string): boolean {
    return this.#busy.size < maxBusy && (this.#failing.size < maxFailing || !this.#isFailing(key));
  }

  #isFailing(key: string): boolean {
    return typeof this.table.get(key)?.failingSinceMs === 'number';
  }

  async #work(key: string, lease: Lease): Promise<void> {
    while (lease.held() && !this.#isStopping) {
      const found = this.table.get(key);
      if (!found) return;
      const target = this.#targets.get(key);
      if (!target) return this.table.set(key, null);
      if (target.paused !== null) return this.#set(key, afterPause(found));
      const nowMs = this.clock();
      const before = afterSettingBack(found, nowMs);
      const dueMs = workMs(before);
      if (dueMs > nowMs) return this.#agenda.put(key, dueMs, nowMs);
      await this.#attempt(key, target, before, lease);
    }
  }

  /**
   * One attempt. What it tells is in the log before, and what became of it afterwards. When the group wants the partition back meanwhile, the
   * attempt has a moment to end: its outcome would be unknown otherwise, and the target be told twice.
   */
  async #attempt(key: string, target: AlertTarget, before: TargetDeliveries, lease: Lease): Promise<void> {
    const begun = afterBeginning(before, `msg_${randomUUID().replaceAll('-', '')}`, this.clock());
    this.#set(key, begun);
    await this.table.write();
    if (!lease.held()) return;
    await during(lease, async (goesOn) => {
      const answer = await this.outbound.send(messageOf(target, begun.open!, this.clock()));
      const state = goesOn() ? this.table.get(key) : undefined;
      if (!state) return;
      const after = afterAnswer(state, answer, this.clock(), Math.random());
      this.#attempts.add(target.kind, after.attempts.at(-1)!.outcome);
      const reason = pauseReasonOf(after);
      this.#set(key, after, reason ? [this.#givingUp(target, reason)] : []);
      await this.table.write(goesOn);
    });
  }

  /** Has the target paused, for everybody. */
  #givingUp(target: AlertTarget, reason: Exclude<PauseReason, 'asked'>): Entry<TargetCommand> {
    const { orgId, targetId, changedMs } = target;
    const why = reason === 'gone' ? 'it answers that it is gone' : 'every attempt of a day has failed';
    logger.warn(`${shownTo(target)} of organization ${orgId} is paused: ${why}`);
    const asked = { orgId, id: randomUUID(), askedMs: this.clock(), by: { id: 'service', name: 'service' } };
    const does = reason === 'gone' ? 'gone' : 'give_up';
    return entry(targetCommands, { ...asked, targetId, does, target: null, change: null, changedMs, secret: null });
  }

  /** A test is made once, and one at a time for each target. */
  #test(key: string, target: AlertTarget, notice: Notice, lease: Lease): void {
    const { testId, alerts } = notice;
    const isKnown = this.table.get(key)?.attempts.some(({ deliveryId }) => deliveryId === testId);
    if (isKnown || this.#testing.has(key) || this.#isStopping) return;
    const telling = { id: testId!, told: toldTogether(null, alerts)!, isTest: true, madeMs: this.clock() };
    const mayBegin = this.#testing.size < maxTests;
    const answered = mayBegin ? this.outbound.send(messageOf(target, telling, this.clock())) : Promise.resolve(tooManyTests);
    const test = answered
      .then((answer) => {
        if (!lease.held()) return undefined;
        this.table.set(key, afterTest(this.#stateOf(notice), telling, answer, this.clock()));
        return this.table.write();
      })
      .catch((error: unknown) => logger.warn(`what became of a test is not written: ${causes(error)}`))
      .finally(() => this.#testing.delete(key));
    this.#testing.set(key, test);
  }

  /** Nothing while others have the partitions. */
  #figures(): TargetFigures {
    const paused = new Map<PauseReason, number>();
    if (!this.#lease?.held()) return { waiting: 0, transitions: 0, oldestMs: undefined, paused };
    let [waiting, transitions, oldestMs] = [0, 0, Infinity];
    for (const [, state] of this.table.entries()) {
      const count = waitingIn(state);
      if (count > 0) waiting++;
      transitions += count;
      oldestMs = Math.min(oldestMs, state.open?.madeMs ?? Infinity);
    }
    for (const [key, target] of this.#targets.scan(''))
      if (target.paused && this.table.owns(key)) paused.set(target.paused, (paused.get(target.paused) ?? 0) + 1);
    return { waiting, transitions, oldestMs: oldestMs === Infinity ? undefined : oldestMs, paused };
  }

  #set(key: string, state: TargetDeliveries, outputs: readonly Entry[] = []): void {
    if (state !== this.table.get(key)) this.table.set(key, state, outputs);
  }

  #stateOf(of: Pick<Notice, 'orgId' | 'targetId'>): TargetDeliveries {
    return this.table.get(targetKey(of)) ?? noDeliveries(of.orgId, of.targetId);
  }
}

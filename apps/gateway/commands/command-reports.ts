import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, Metrics, type Clock } from '#edge';
import { entry, RECORD_LOG, type RecordLog } from '#log';
import { afterReport, type CommandState, counter, outcomeOf } from '#model';
import { commandKey, events } from '#topics';
import { CommandStates } from './command-states.js';

/** What a device says of a command. */
export interface CommandReport {
  readonly orgId: string;
  readonly sourceId: string;
  readonly connectionId: string;
  /** Of the command, as it was handed over. */
  readonly id: string;
  readonly command?: string;
  /** `status`: the device is working on it. Frees the slot, is not stored. */
  readonly event: 'ack' | 'result' | 'error' | 'status';
  readonly result?: unknown;
  readonly error?: unknown;
}

const logger = new Logger('CommandReports');
const tellEveryMs = 60_000;

/** Takes what devices say of commands, and keeps how these ended as events named `command.result`. */
@Injectable()
export class CommandReports {
  /** The last report under way of each command: those of one command are taken one after the other. */
  readonly #last = new Map<string, Promise<void>>();
  #dropped = 0;
  #toldMs = -Infinity;

  constructor(
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly states: CommandStates,
    metrics: Metrics,
  ) {
    metrics.add(
      counter(
        'headwater_command_reports_dropped',
        'Reports of devices about commands that are not theirs, or that have ended.',
        () => this.#dropped,
      ),
    );
  }

  /**
   * Resolves once the outcome is durable. A report that repeats another one, or is about a command that the device does not have, has no
   * effect. Rejects `log_unavailable`: report it again.
   */
  report(report: CommandReport): Promise<void> {
    const key = commandKey({ ...report, commandId: report.id });
    const before = this.#last.get(key);
    const taken = before ? before.then(() => this.#take(key, report)) : this.#take(key, report);
    const settled = taken.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(key, settled);
    void settled.then(() => this.#last.get(key) === settled && this.#last.delete(key));
    return taken;
  }

  async #take(key: string, report: CommandReport): Promise<void> {
    // A device may also list what it knows of commands that have ended.
    const state = report.event === 'status' ? this.states.get(key) : await this.states.find(key);
    if (!state) return report.event === 'status' ? undefined : this.#drop(report);
    this.states.desk.settled(key);
    const reported = afterReport(state, report.event);
    if (!reported) return;
    if (reported.isOutcome) await this.#keep(state, report);
    this.states.write(state, reported.state);
  }

  #keep(state: CommandState, { event, result, error }: CommandReport): Promise<void> {
    return this.log.append([entry(events, outcomeOf(state, { event, result, error }, this.clock()))]);
  }

  #drop({ orgId, sourceId, id }: CommandReport): void {
    this.#dropped++;
    const nowMs = performance.now();
    if (nowMs - this.#toldMs < tellEveryMs) return;
    this.#toldMs = nowMs;
    const command = JSON.stringify(id.slice(0, 64));
    logger.warn(
      `the source ${orgId}/${sourceId} has reported on the command ${command}, which is not one of its own or has ended; ${this.#dropped} such reports so far`,
    );
  }
}

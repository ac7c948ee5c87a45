import { Inject, Injectable, Logger, Optional, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { CLOCK, MONOTONIC_CLOCK, Readiness, type Clock, type MonotonicClock } from '#edge';
import { entry, LogGap, RECORD_LOG, tombstone, type Following, type RecordLog, type StreamRecord } from '#log';
import { gatewayQuietMs, TelemetryError, type Gateway } from '#model';
import { gateways } from '#topics';
import { Leftovers } from './leftovers.js';

const logger = new Logger('GatewayLife');

const beatMs = 5_000;
const lookMs = 1_000;
/** Nobody new is let in when no heartbeat came back for so long. */
const lateMs = 12_000;
/** Heartbeats that may be under way to the log and back. */
const maxUnderWay = 16;

interface Heartbeat {
  /** By the clock of the log. */
  readonly appendedMs: number;
  /** By the monotonic clock of this process. */
  readonly sentMs: number;
}

/** This run of a gateway, and whether others take it for alive: it goes by its own heartbeats as it reads them back from the log. */
@Injectable()
export class GatewayLife implements OnModuleInit, OnApplicationShutdown {
  readonly gatewayId = `gw_${randomBytes(12).toString('base64url')}`;
  /** The newest that came back. */
  #heard: Heartbeat | undefined;
  /** By what each says of its time. */
  readonly #underWay = new Map<number, number>();
  readonly #listeners: (() => void)[] = [];
  #following: Following | undefined;
  #timer: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;
  #lastBeatMs = 0;
  #lastConnectedMs = 0;
  #isFailing = false;
  #isOver = false;
  #isStopped = false;

  constructor(
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly readiness: Readiness,
    private readonly leftovers: Leftovers,
    @Optional() @Inject(MONOTONIC_CLOCK) private readonly monotonicMs: MonotonicClock = () => performance.now(),
  ) {}

  onModuleInit(): void {
    this.leftovers.begin(this.gatewayId);
    this.readiness.need(this.#begin());
  }

  /** Others still take this gateway for alive. Where it is false, its connections are about to end. */
  isAlive(): boolean {
    return this.#quietMs() < gatewayQuietMs;
  }

  /**
   * What time it is by the clock of the log, Unix milliseconds, reckoned from the last heartbeat. It is never behind that clock, and ahead of it by at
   * most the time in which that heartbeat was appended.
   */
  logMs(): number {
    return this.#heard ? this.#heard.appendedMs + this.#quietMs() : this.clock();
  }

  /** When a connection begins: later than every earlier one of this gateway, by the clock of the log. */
  connectedMs(): number {
    return (this.#lastConnectedMs = Math.max(this.#lastConnectedMs + 1, Math.floor(this.logMs())));
  }

  /** Server time, Unix milliseconds. */
  nowMs(): number {
    return this.clock();
  }

  /** @throws TelemetryError when nobody new can be let in. */
  check(): void {
    this.readiness.check('Connect again in a moment: the server has just started.');
    if (this.#isFailing || this.#quietMs() >= lateMs)
      throw new TelemetryError('log_unavailable', 'Connect again in a moment: the log cannot be written now.');
  }

  /** The log could not be written: nobody new is let in until a heartbeat is. */
  noteFailure(): void {
    this.#isFailing = true;
  }

  /** Calls `listener` each time others have just begun to take this gateway for gone: its connections must end. */
  over(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async onApplicationShutdown(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    clearInterval(this.#watch);
    this.leftovers.stop();
    await this.#following?.stop();
    await this.log.append([tombstone(gateways, this.gatewayId)]).catch(() => undefined);
  }

  /** Resolves when the first heartbeat has come back, or could not be written: without one nobody is let in here, and all else works. */
  async #begin(): Promise<void> {
    this.#follow();
    this.#watch = setInterval(() => this.#look(), lookMs).unref();
    await this.#following!.caughtUp().catch(() => undefined);
    if (!this.#isStopped) await this.#beat();
    if (!this.#isFailing) await this.#following!.caughtUp().catch(() => undefined);
  }

  #follow(): void {
    this.#following = this.log.follow({
      topics: [gateways],
      from: 'end',
      take: (records) => this.#take(records),
      unreadable: () => undefined,
      stopped: (error) => {
        if (error instanceof LogGap) this.#follow();
        else logger.error(error);
      },
    });
  }

  #take(records: readonly StreamRecord[]): void {
    for (const { key, value, appendedMs } of records) {
      const sentMs = key === this.gatewayId && value ? this.#underWay.get((value as Gateway).beatMs) : undefined;
      if (sentMs === undefined) continue;
      this.#underWay.delete((value as Gateway).beatMs);
      this.#heard = { appendedMs, sentMs };
      this.#isOver = false;
    }
  }

  async #beat(): Promise<void> {
    const sentMs = this.monotonicMs();
    this.#lastBeatMs = Math.max(this.#lastBeatMs + 1, this.clock());
    this.#underWay.set(this.#lastBeatMs, sentMs);
    if (this.#underWay.size > maxUnderWay) this.#underWay.delete(this.#underWay.keys().next().value!);
    try {
      await this.log.append([entry(gateways, { gatewayId: this.gatewayId, beatMs: this.#lastBeatMs })]);
      this.#isFailing = false;
    } catch {
      this.#isFailing = true;
    }
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#beat(), Math.max(0, sentMs + beatMs - this.monotonicMs())).unref();
  }

  #look(): void {
    if (this.isAlive() || this.#isOver) return;
    this.#isOver = true;
    for (const listener of this.#listeners) listener();
  }

  #quietMs(): number {
    return this.#heard ? this.monotonicMs() - this.#heard.sentMs : Infinity;
  }
}

import { Inject, Injectable, Logger, Optional, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Metrics, MONOTONIC_CLOCK, Readiness, type MonotonicClock } from '#edge';
import { LogGap, RECORD_LOG, type Following, type RecordLog, type StreamRecord } from '#log';
import { type Command, commandTtlMs, counter, parseJson, type Verdict } from '#model';
import { commandKey, commands, sourceKey } from '#topics';
import { DeviceConnections } from '../device/device-connections.js';
import { GatewayLife } from '../device/gateway-life.js';
import { CommandStates } from './command-states.js';

const logger = new Logger('CommandDelivery');

/** What became of a command here. */
type Fate = 'queued' | 'late' | 'full' | 'gone' | 'beyond';

/**
 * Reads the commands that are sent from now on, gives those for connections of this gateway to their devices, and replies to each through the
 * log, once.
 */
@Injectable()
export class CommandDelivery implements OnModuleInit, OnApplicationShutdown {
  readonly #fates: Record<Fate, number> = { queued: 0, late: 0, full: 0, gone: 0, beyond: 0 };
  #following: Following | undefined;

  constructor(
    @Inject(RECORD_LOG) private readonly log: RecordLog,
    private readonly connections: DeviceConnections,
    private readonly life: GatewayLife,
    private readonly states: CommandStates,
    private readonly readiness: Readiness,
    metrics: Metrics,
    @Optional() @Inject(MONOTONIC_CLOCK) private readonly monotonicMs: MonotonicClock = () => performance.now(),
  ) {
    metrics.add(
      counter(
        'headwater_commands',
        'Commands for connections of this gateway: handed over, or not because they came late, their device had too many, the connection was gone, or their organization sent more than can be remembered.',
        () => Object.entries(this.#fates).map(([result, value]) => ({ labels: { result }, value })),
      ),
    );
  }

  onModuleInit(): void {
    this.#follow();
    this.readiness.need(Promise.all([this.#following!.caughtUp(), this.states.ready]));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#following?.stop();
  }

  #follow(): void {
    this.#following = this.log.follow({
      topics: [commands],
      from: 'end',
      take: (records) => {
        for (const record of records) this.#take(record as StreamRecord<Command>);
      },
      unreadable: () => undefined,
      // What was missed nobody has handed over, and whoever sent it is told that no gateway answers.
      stopped: (error) => {
        if (error instanceof LogGap) this.#follow();
        else logger.error(error);
      },
    });
  }

  #take({ value: command, appendedMs }: StreamRecord<Command>): void {
    if (!command || command.gatewayId !== this.life.gatewayId) return;
    const key = commandKey(command);
    const ageMs = this.life.isAlive() ? this.life.logMs() - appendedMs : Infinity;
    const verdict = this.states.desk.decide(key, ageMs, this.monotonicMs());
    if (verdict === 'repeated') return;
    if (verdict === 'beyond') return void this.#fates.beyond++;
    const fate = this.#carryOut(verdict, command);
    this.#fates[fate]++;
    const { orgId, sourceId, commandId, name, sentMs } = command;
    const state = { orgId, sourceId, commandId, name, sentMs, isAcknowledged: false };
    if (fate === 'queued') this.states.makeRoom(sourceKey(command));
    else this.states.desk.settled(key);
    this.states.write(state, fate === 'queued' ? state : null);
  }

  #carryOut(verdict: Exclude<Verdict, 'repeated' | 'beyond'>, command: Command): Fate {
    if (verdict !== 'hand_over') return verdict;
    const { orgId, sourceId, connectionId, commandId: id, name, params } = command;
    const talk = this.connections.get(connectionId);
    if (talk?.orgId !== orgId || talk.sourceId !== sourceId) return 'gone';
    const parsed = objectIn(params);
    return parsed && talk.handOver({ id, command: name, params: parsed, ttlMs: commandTtlMs }) ? 'queued' : 'gone';
  }
}

/** Undefined where another producer has written something else: a device is only given what the API would take. */
function objectIn(params: string): object | undefined {
  try {
    const parsed: unknown = parseJson(Buffer.from(params));
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}
